import DiamondSQLite
import Foundation

/// The storage of a cache in an SQLite file: the default.
///
/// Reads take the calling thread some ten microseconds. Besides entries, the file keeps what other storages do not: the
/// beginnings of interrupted transfers and the parts that answer ranges, the records of downloads into files, the uses
/// that SIEVE evicts by, and recorded accesses.
final class SQLiteCacheStorage: DirectCacheStorage {
    let file: CacheFile
    let eviction: Eviction

    init(file: CacheFile, eviction: Eviction) {
        self.file = file
        self.eviction = eviction
    }

    var name: String { file.store.cachePath }

    var secret: Data { file.secret }

    var coding: CacheCoding { file.coding }

    var generation: Int { file.generation }

    // MARK: Lookups

    func records(under key: RequestKey, bodyLimit: Int) throws(CacheError) -> [CacheRecord] {
        let parts = try file.parts(of: .key(key))
        return try file.read { (connection) throws(SQLiteError) in
            try CacheTable.records(of: parts, under: key, bodyLimit: bodyLimit, on: connection)
        }
    }

    func chunks(_ numbers: Range<Int>, of record: CacheRecord) throws(CacheError) -> [Data]? {
        try file.read { (connection) throws(SQLiteError) in
            try CacheTable.chunks(numbers, of: record, on: connection)
        }
    }

    func changes(since position: ChangePosition?) throws(CacheError) -> CacheChanges {
        try file.reopenIfReplaced(timeout: CacheFile.briefTimeout)
        let generation = file.generation
        var changes = try file.read { (connection) throws(SQLiteError) in
            let start = if let position { position } else { try CacheTable.newestChange(on: connection) }
            var changes = try CacheTable.changes(after: start, on: connection)
            changes.hasParts = try CacheTable.arePartials(on: connection)
            return changes
        }
        changes.generation = generation
        return changes
    }

    func changesAtOnce(since position: ChangePosition) -> CacheChanges? {
        let found = file.readAtOnce { (connection) throws(SQLiteError) in
            let newest = try CacheTable.newestChange(on: connection)
            var changes = CacheChanges(position: newest, names: newest == position ? ChangedNames() : nil)
            changes.hasParts = try CacheTable.arePartials(on: connection)
            return changes
        }
        guard var changes = found else { return nil }
        changes.generation = file.generation
        return changes
    }

    // MARK: Writes

    let isLocal = true

    var canWriteImmediately: Bool { file.canWriteImmediately }

    func prepare() throws(CacheError) { try file.reopenIfReplaced() }

    func write(_ batch: CacheBatch) throws(CacheError) -> CacheOutcome {
        let capacity = eviction.capacity
        let generation = batch.generation ?? file.generation
        let isUncompressed = coding.isInClear
        var steps: [PreparedStep] = []
        for step in batch.steps { steps.append(try file.prepared(step)) }
        let renewals = renewals(of: batch.usage.visited)
        // Uses alone wait only briefly for another process that writes, so that lookups are not delayed.
        let timeout = batch.steps.isEmpty ? CacheFile.briefTimeout : nil
        return try file.write(busyTimeout: timeout) { (connection) throws(SQLiteError) in
            try file.throwIfReplaced(of: generation)
            var outcome = CacheOutcome()
            for step in steps where try file.write(step, on: connection) { outcome.vanished.append(step.key) }
            for renewal in renewals { try CacheTable.write(renewal, on: connection) }
            outcome.recording = try CacheTable.write(
                batch.usage, capacity: capacity, isUncompressed: isUncompressed, on: connection)
            // This connection has the page counts in memory; a reader would have to read the log.
            if batch.checksUsage { outcome.pages = try CacheTable.pages(on: connection) }
            return outcome
        }
    }

    /// Reads the visited entries whose bodies have SHA-256, before the transaction, because that may take long. After
    /// ``CacheTable/renewalLimit`` bytes, or if it fails, the next visits do it: such an entry counts as unused.
    private func renewals(of visited: Set<Int64>) -> [CacheTable.Renewal] {
        var renewals: [CacheTable.Renewal] = []
        var size: Int64 = 0
        for prefix in visited where size < CacheTable.renewalLimit {
            let renewal = try? file.read { (connection) throws(SQLiteError) in
                try CacheTable.renewal(of: prefix, on: connection)
            }
            guard let renewal else { continue }
            size += renewal.bodySize
            renewals.append(renewal)
        }
        return renewals
    }

    func invalidate(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) throws(CacheError) -> CacheRecordCount {
        try file.mark(file.parts(of: selections), named: names)
    }

    func invalidate(urls: [String]) throws(CacheError) { try file.mark(urls: urls) }

    func valid(urls: [String]) throws(CacheError) -> Set<String> { try file.valid(urls: urls) }

    func stored(among keys: [RequestKey]) throws(CacheError) -> [RequestKey] {
        try file.read { (connection) throws(SQLiteError) in
            var known: [RequestKey] = []
            for key in keys where try CacheTable.has(key, on: connection) { known.append(key) }
            return known
        }
    }

    func setPinned(_ isPinned: Bool, for key: RequestKey) throws(CacheError) -> Bool {
        try file.write { (connection) throws(SQLiteError) in
            try CacheTable.setPinned(isPinned, for: key, on: connection)
        } > 0
    }

    // MARK: Erasures

    func eraseOutdated(_ selections: [CacheSelection], announcing names: ChangedNames?) throws(CacheError) {
        for selection in selections { try file.erase(selection, named: names) }
    }

    func erase(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) throws(CacheError) -> CacheRecordCount {
        var parts = try file.parts(of: selections)
        let isByIdentity = selections.contains { if case .identity = $0.criterion { true } else { false } }
        if isByIdentity { parts.append(try file.unknownIdentities()) }
        try file.deleteAccesses(of: parts)
        var count = CacheRecordCount()
        for part in parts { count += try file.erase(part, named: names) }
        for selection in selections { try file.eraseDownloads(selection) }
        if selections.contains(.all) { try file.deleteOrphans() }
        // Also if nothing was erased: an earlier call may have failed after it erased the entries.
        try eviction.vacuumAll()
        if isByIdentity { try overwriteErased() }
        return count
    }

    /// Whether a sign-out was not completed, because its process ended before it had overwritten what it had erased.
    var hasUnfinishedSignOut: Bool { file.seal == nil && (try? file.read(CacheTable.erasure)) == .signOut }

    /// Rewrites a file in clear if rows of an identity were erased that are not overwritten.
    func overwriteErased() throws(CacheError) {
        guard file.seal == nil, try file.read(CacheTable.erasure) != nil else { return }
        do throws(CacheError) {
            try file.rewrite()
        } catch {
            guard [.diskFull, .diskError, .cannotOpen].contains(error.code) else { throw error }
            try file.erase(.all, named: nil)
            try file.deleteOrphans()
            try eviction.vacuumAll()
        }
        try file.erasing(CacheTable.clearErasure)
    }

    // MARK: Capacity

    var capacity: Int64 {
        get { eviction.capacity }
        set { eviction.capacity = newValue }
    }

    func isTooLarge(_ bodySize: Int) -> Bool { eviction.isTooLarge(bodySize) }

    func spend(_ bytes: Int64) -> Bool { eviction.spend(bytes) }

    var needsEviction: Bool { eviction.needsCheck }

    func evictSlice(_ pages: CachePages?) throws(CacheError) -> (count: Int, isMore: Bool) { try eviction.slice(pages) }

    func evict(to bytes: Int64) throws(CacheError) -> Int? {
        try Eviction(file: file, capacity: bytes, now: eviction.now).run().count
    }

    // MARK: Lists

    func list(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) throws(CacheError) -> [CacheRecord] {
        try file.read { (connection) throws(SQLiteError) in
            let listings = try CacheTable.list(groups, by: order, after: cursor, limit: limit, on: connection)
            return try CacheTable.records(listings.map(\.id), bodyLimit: -1, on: connection)
        }
    }

    func listings(
        _ selections: [CacheSelection], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) throws(CacheError) -> [CacheListing] {
        try file.list(selections, by: order, after: cursor, limit: limit)
    }

    func count(_ selections: [CacheSelection], onlyValid: Bool) throws(CacheError) -> Int {
        let parts = try file.parts(of: selections)
        return try file.read { (connection) throws(SQLiteError) in
            var count = 0
            for part in parts { count += try CacheTable.count(part, onlyValid: onlyValid, on: connection) }
            return count
        }
    }

    func totals() throws(CacheError) -> CacheTotals {
        var totals = try file.read(CacheTable.totals)
        totals.diskBytes = file.database.size
        return totals
    }

    func statistics(from hour: Int64) throws(CacheError) -> [CacheCounts] {
        try file.read { (connection) throws(SQLiteError) in try CacheTable.hours(from: hour, on: connection) }
    }

    func canonicalForm(of key: RequestKey) throws(CacheError) -> String? {
        try file.read { (connection) throws(SQLiteError) in try file.canonicalForm(of: key, on: connection) }
    }
}
