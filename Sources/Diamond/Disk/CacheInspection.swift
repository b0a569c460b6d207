import DiamondSQLite
import DiamondSchema
import Foundation

/// Everything a store holds, read in pages beside whoever uses it, and held against its checksums.
package struct CacheInspection: Sendable {
    /// Entries that were read.
    package private(set) var entries = 0
    /// Bytes of their bodies.
    package private(set) var bodyBytes: Int64 = 0
    package private(set) var findings: [CacheFinding] = []
    /// Sealed entries that were held against their checksums alone: nobody here can open them.
    package private(set) var locked = 0
    private let store: Store
    private var seal: (any CacheSeal)?
    /// The file that was looked at.
    private let number: FileNumber?

    /// Reads the store; nothing is changed, but for a file of an older version, which is migrated as by everyone.
    ///
    /// - Parameter seal: what opens the entries of a sealed store, so that they are held against their seals, too.
    /// - Throws: ``CacheError`` where it cannot be read. That the file is malformed is a finding.
    package init(of store: Store, seal: (any CacheSeal)? = nil) throws(CacheError) {
        try store.requireCache()
        self.store = store
        self.seal = seal
        number = FileNumber(store.cachePath)
        do throws(SQLiteError) {
            try read(Self.open(store))
        } catch {
            guard CacheError(error).code == .corrupt else { throw CacheError(error) }
            findings = [CacheFinding(kind: .file, what: "\(error.message) (SQLite \(error.code.rawValue))")]
        }
    }

    private static func open(_ store: Store) throws(SQLiteError) -> SQLiteDatabase {
        try SQLiteDatabase(path: store.cachePath, configuration: DiamondSchema.cache)
    }

    private mutating func read(_ database: SQLiteDatabase) throws(SQLiteError) {
        findings = try database.read(CacheTable.malformations).map { CacheFinding(kind: .file, what: $0) }
        // In such a file nothing else is to be trusted.
        guard findings.isEmpty else { return }
        // To another key of the name every entry would be damaged.
        if let seal, try !SealedSecret(seal).isRight(for: database) { self.seal = nil }
        try readEntries(database)
        try readBodies(database)
        try readTags(database)
        try readFacts(database)
    }

    private mutating func readEntries(_ database: SQLiteDatabase) throws(SQLiteError) {
        var last = Int64.min
        while true {
            let ids = try database.read { [last] (connection) throws(SQLiteError) in
                try CacheTable.ids(after: last, on: connection)
            }
            guard let end = ids.last else { return }
            for id in ids { try readEntry(id, database) }
            last = end
        }
    }

    // What opens a row needs nothing of the store's secret, which may be missing.
    private var sealing: Sealing? { seal.map { Sealing($0, secret: Data()) } }

    private mutating func readEntry(_ id: Int64, _ database: SQLiteDatabase) throws(SQLiteError) {
        let entry = try database.read { (connection) throws(SQLiteError) in
            try CacheTable.inspect(id, sealing, on: connection)
        }
        guard let entry else { return }
        if entry.isLocked { locked += 1 }
        entries += 1
        bodyBytes += max(0, entry.bodySize)
        guard let damage = entry.damage else { return }
        findings.append(CacheFinding(kind: .entry, key: entry.key, url: entry.url, what: damage, id: id))
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
        add(.body, counts, "rows of a body")
    }

    private mutating func readTags(_ database: SQLiteDatabase) throws(SQLiteError) {
        add(.tags, try database.read(CacheTable.orphanedTags).counts, "tags")
    }

    private mutating func add(_ kind: CacheFinding.Kind, _ counts: [Int64: Int], _ rows: String) {
        for (id, count) in counts.sorted(by: { $0.key < $1.key }) {
            findings.append(CacheFinding(kind: kind, what: "\(rows) without an entry: \(count)", id: id))
        }
    }

    private mutating func readFacts(_ database: SQLiteDatabase) throws(SQLiteError) {
        if try !database.read(CacheTable.hasSoundHand) {
            findings.append(CacheFinding(kind: .hand, what: "points nowhere"))
        }
        if try !database.read(CacheTable.hasSoundSecret) {
            findings.append(CacheFinding(kind: .secret, what: "is missing"))
        }
    }
}

extension CacheInspection {
    /// Mends what was found: drops what is damaged, and sets a malformed file aside, as a program would.
    package func repair() throws(CacheError) -> [CacheRepair] {
        guard !findings.contains(where: { $0.kind == .file }) else { return try setAside() }
        do throws(SQLiteError) {
            let database = try Self.open(store)
            var repairs: [CacheRepair] = []
            // One transaction each: others write in between.
            for finding in findings { repairs.append(try mend(finding, in: database)) }
            return repairs
        } catch {
            throw CacheError(error)
        }
    }

    private func mend(_ finding: CacheFinding, in database: SQLiteDatabase) throws(SQLiteError) -> CacheRepair {
        let done = try database.write { (connection) throws(SQLiteError) in try mend(finding, on: connection) }
        return CacheRepair(finding: finding, done: done)
    }

    private func mend(
        _ finding: CacheFinding,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> String? {
        switch finding.kind {
        case .file: return nil
        case .entry: return try CacheTable.deleteDamaged(finding.id ?? 0, sealing, on: connection) ? "dropped" : nil
        case .body, .tags: return try CacheTable.deleteOrphans(of: finding.id ?? 0, on: connection) ? "dropped" : nil
        case .hand:
            try CacheTable.setHand(0, on: connection)
            return "set to the beginning"
        case .secret:
            // The key is not always at hand here, and a secret in clear is none of such a store.
            guard try CacheTable.seals(on: connection).isEmpty else { return "left to the next program with the key" }
            guard try CacheTable.replaceSecret(by: CacheFile.freshSecret(), on: connection) else { return nil }
            return "made anew; what was stored for requests with credentials is found no more"
        }
    }

    private func setAside() throws(CacheError) -> [CacheRepair] {
        let old = try? Self.open(store)
        let secret = try? old?.read(CacheTable.secret)
        let sealed = (try? old?.read(CacheTable.sealedSecrets)) ?? [:]
        let place = try CacheFile.setAside(store, unlessOtherThan: number)
        // With the secret of the programs that run; where it cannot be read, the next of them makes the file.
        if place != nil, secret != nil || !sealed.isEmpty { try begin(secret, sealed) }
        let done = place.map { "set aside as \(URL(filePath: $0).lastPathComponent)" }
        return findings.map { CacheRepair(finding: $0, done: done) }
    }

    private func begin(_ secret: Data?, _ sealed: [String: Data]) throws(CacheError) {
        do throws(SQLiteError) {
            try Self.open(store).write { (connection) throws(SQLiteError) in
                if let secret { try CacheTable.keepSecret(secret, on: connection) }
                for (id, bytes) in sealed {
                    try CacheTable.keepSecret(bytes, keyID: id, replacing: nil, on: connection)
                }
            }
        } catch {
            throw CacheError(error)
        }
    }
}
