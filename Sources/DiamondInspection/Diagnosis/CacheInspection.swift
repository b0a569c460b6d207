package import Diamond
import DiamondSQLite
import Foundation

/// An inspection of all contents of a store. It reads them in pages while programs use the store, and compares them
/// with their checksums.
package struct CacheInspection: Sendable {
    /// The number of entries read.
    package private(set) var entries = 0
    /// The number of bytes of their bodies.
    package private(set) var bodyBytes: Int64 = 0
    package private(set) var findings: [CacheFinding] = []
    /// The number of sealed entries compared only with their checksums, because no key here opens them.
    package private(set) var locked = 0
    /// The number of entries with incomplete bodies.
    package private(set) var partials = 0
    let store: Store
    /// The time of the inspection.
    let now: WallTime
    private(set) var seal: (any CacheSeal)?
    /// The inspected file.
    let fileNumber: FileIdentity?

    /// Reads the store. It changes nothing, except that a file of an older version is migrated, as by any program.
    ///
    /// - Parameters:
    ///   - seal: opens the entries of a sealed store, so that their seals are checked, too.
    ///   - now: the current time.
    ///   - progress: receives the number of entries read, after each one, and that of all; 0 if that is unknown.
    /// - Throws: ``CacheError`` if the store cannot be read. A malformed file is a finding instead.
    package init(
        of store: Store,
        seal: (any CacheSeal)? = nil,
        now: WallTime = .now,
        progress: (_ count: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(CacheError) {
        try store.requireCache()
        self.now = now
        self.store = store
        self.seal = seal
        fileNumber = FileIdentity(store.cachePath)
        do throws(SQLiteError) {
            findings = try Self.headerFindings(of: store)
            // A file with a wrong header cannot be opened for the rest.
            if findings.isEmpty { try read(Self.open(store), progress: progress) }
        } catch {
            guard CacheError(error).code == .corrupt else { throw CacheError(error) }
            findings = [CacheFinding(kind: .file, what: "\(error.message) (SQLite \(error.code.rawValue))")]
        }
    }

    static func open(_ store: Store) throws(SQLiteError) -> SQLiteDatabase {
        try CacheFile.database(of: store)
    }

    private mutating func read(
        _ database: SQLiteDatabase, progress: (_ count: Int, _ total: Int) -> Void
    ) throws(SQLiteError) {
        findings = try database.read(CacheTable.integrityErrors).map { CacheFinding(kind: .file, what: $0) }
        // The contents of a damaged file cannot be trusted.
        guard findings.isEmpty else { return }
        findings = try database.read(Self.schemaFindings)
        // The queries below need every table.
        guard !findings.contains(where: { $0.kind == .file || $0.fault?.part.kind == .table }) else { return }
        // With another key of the same name, every entry would seem damaged.
        if let seal, try !SealedSecret(seal).isRight(for: database) { self.seal = nil }
        try readEntries(database, progress: progress)
        try readBodies(database)
        try readTags(database)
        try readPartials(database)
        try readDownloads(database)
        try readState(database)
    }

    private mutating func readEntries(
        _ database: SQLiteDatabase, progress: (_ count: Int, _ total: Int) -> Void
    ) throws(SQLiteError) {
        // An index that it needs may be missing.
        let total = (try? database.read(CacheTable.totals))?.entries ?? 0
        var last = Int64.min
        while true {
            let ids = try database.read { [last] (connection) throws(SQLiteError) in
                try CacheTable.ids(after: last, on: connection)
            }
            guard let end = ids.last else { return }
            for id in ids {
                try readEntry(id, from: database)
                progress(entries, total)
            }
            last = end
        }
    }

    // Opening a row does not need the store's secret, which may be missing.
    var sealing: Sealing? { seal.map { Sealing($0, secret: Data()) } }

    private mutating func readEntry(_ id: Int64, from database: SQLiteDatabase) throws(SQLiteError) {
        let entry = try database.read { (connection) throws(SQLiteError) in
            try CacheTable.inspect(id, sealing: sealing, on: connection)
        }
        guard let entry else { return }
        if entry.isLocked { locked += 1 }
        entries += 1
        bodyBytes = bodyBytes.addingSaturating(max(0, entry.bodySize))
        if let damage = entry.damage {
            findings.append(CacheFinding(kind: .entry, key: entry.key, url: entry.url, what: damage, id: id))
        } else if entry.surplus > 0 {
            let what = "rows after the end of its body: \(entry.surplus)"
            findings.append(CacheFinding(kind: .surplus, key: entry.key, url: entry.url, what: what, id: id))
        }
    }

    private mutating func readBodies(_ database: SQLiteDatabase) throws(SQLiteError) {
        var counts: [Int64: Int] = [:]
        var last: Int64? = .min
        while let start = last {
            let page = try database.read { (connection) throws(SQLiteError) in
                try CacheTable.orphanedBodies(after: start, on: connection)
            }
            counts.merge(page.counts, uniquingKeysWith: +)
            last = page.last
        }
        add(.body, counts: counts, rows: "rows of a body")
    }

    private mutating func readTags(_ database: SQLiteDatabase) throws(SQLiteError) {
        add(.tags, counts: try database.read(CacheTable.orphanedTags).counts, rows: "tags")
    }

    private mutating func readPartials(_ database: SQLiteDatabase) throws(SQLiteError) {
        partials = try database.read(CacheTable.partialCount)
        let left = try database.read { [now] (connection) throws(SQLiteError) in
            try CacheTable.leftovers(at: now, on: connection)
        }
        findings += left.map { id in
            CacheFinding(kind: .partial, what: "a part of a body that no transfer continues", id: id)
        }
    }

    private mutating func readDownloads(_ database: SQLiteDatabase) throws(SQLiteError) {
        let rows = try database.read { (connection) throws(SQLiteError) in
            try CacheTable.downloads(on: connection)
        }
        findings += rows.compactMap { row in
            row.fault(at: now).map {
                CacheFinding(
                    kind: .download, key: row.download?.key, url: row.download?.url, what: $0, id: row.id)
            }
        }
    }

    private mutating func add(_ kind: CacheFinding.Kind, counts: [Int64: Int], rows: String) {
        for (id, count) in counts.sorted(by: { $0.key < $1.key }) {
            findings.append(CacheFinding(kind: kind, what: "\(rows) without an entry: \(count)", id: id))
        }
    }

    private mutating func readState(_ database: SQLiteDatabase) throws(SQLiteError) {
        if try !database.read(CacheTable.hasSoundHand) {
            findings.append(CacheFinding(kind: .hand, what: "is invalid"))
        }
        if try !database.read(CacheTable.hasSoundSecret) {
            findings.append(CacheFinding(kind: .secret, what: "is missing"))
        }
    }
}

extension CacheTable.DownloadRow {
    /// The reason why no download continues it; `nil` if one can.
    func fault(at now: WallTime) -> String? {
        guard let download else { return "the row of a download has a wrong checksum" }
        return download.fault(at: now)
    }
}
