package import Diamond
import DiamondSQLite
import Foundation

/// Everything a store holds, read in pages while programs use it, and compared with its checksums.
package struct CacheInspection: Sendable {
    /// Entries that were read.
    package private(set) var entries = 0
    /// Bytes of their bodies.
    package private(set) var bodyBytes: Int64 = 0
    package private(set) var findings: [CacheFinding] = []
    /// Sealed entries that were compared with their checksums alone, because no key here opens them.
    package private(set) var locked = 0
    /// Entries whose bodies are not at their end, among all.
    package private(set) var partials = 0
    let store: Store
    /// Milliseconds since 1970.
    let now: Int64
    private(set) var seal: (any CacheSeal)?
    /// The file that was looked at.
    let number: FileNumber?

    /// Reads the store; nothing is changed, but for a file of an older version, which is migrated as by everyone.
    ///
    /// - Parameter seal: what opens the entries of a sealed store, so that they are held against their seals, too.
    /// - Throws: ``CacheError`` where it cannot be read. That the file is malformed is a finding.
    package init(
        of store: Store,
        seal: (any CacheSeal)? = nil,
        now: Int64 = Date().milliseconds
    ) throws(CacheError) {
        try store.requireCache()
        self.now = now
        self.store = store
        self.seal = seal
        number = FileNumber(store.cachePath)
        do throws(SQLiteError) {
            findings = try Self.headerFindings(of: store)
            // Who is refused would be refused for the rest, too.
            if findings.isEmpty { try read(Self.open(store)) }
        } catch {
            guard CacheError(error).code == .corrupt else { throw CacheError(error) }
            findings = [CacheFinding(kind: .file, what: "\(error.message) (SQLite \(error.code.rawValue))")]
        }
    }

    static func open(_ store: Store) throws(SQLiteError) -> SQLiteDatabase {
        try CacheFile.database(of: store).database
    }

    private mutating func read(_ database: SQLiteDatabase) throws(SQLiteError) {
        findings = try database.read(CacheTable.integrityErrors).map { CacheFinding(kind: .file, what: $0) }
        // In such a file nothing else is to be trusted.
        guard findings.isEmpty else { return }
        findings = try database.read(Self.schemaFindings)
        // Without a table there is nothing to read it from.
        guard !findings.contains(where: { $0.kind == .file || $0.fault?.part.kind == .table }) else { return }
        // To another key of the name every entry would be damaged.
        if let seal, try !SealedSecret(seal).isRight(for: database) { self.seal = nil }
        try readEntries(database)
        try readBodies(database)
        try readTags(database)
        try readPartials(database)
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
    var sealing: Sealing? { seal.map { Sealing($0, secret: Data()) } }

    private mutating func readEntry(_ id: Int64, _ database: SQLiteDatabase) throws(SQLiteError) {
        let entry = try database.read { (connection) throws(SQLiteError) in
            try CacheTable.inspect(id, sealing, on: connection)
        }
        guard let entry else { return }
        if entry.isLocked { locked += 1 }
        entries += 1
        bodyBytes = bodyBytes.addingSaturating(max(0, entry.bodySize))
        if let damage = entry.damage {
            findings.append(CacheFinding(kind: .entry, key: entry.key, url: entry.url, what: damage, id: id))
        } else if entry.surplus > 0 {
            let what = "rows behind the end of its body: \(entry.surplus)"
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
        add(.body, counts, "rows of a body")
    }

    private mutating func readTags(_ database: SQLiteDatabase) throws(SQLiteError) {
        add(.tags, try database.read(CacheTable.orphanedTags).counts, "tags")
    }

    private mutating func readPartials(_ database: SQLiteDatabase) throws(SQLiteError) {
        partials = try database.read(CacheTable.partialCount)
        let left = try database.read { [now] (connection) throws(SQLiteError) in
            try CacheTable.leftovers(at: now, on: connection)
        }
        findings += left.map { id in
            CacheFinding(kind: .partial, what: "a part of a body that no transfer goes on with", id: id)
        }
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
