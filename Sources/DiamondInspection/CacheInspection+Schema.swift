import Diamond
import DiamondSQLite
import DiamondSchema

/// The checks that all others depend on: whose file it is, and whether its tables, indexes and triggers are those of
/// the schema.
extension CacheInspection {
    /// Returns the findings about the header of a file that is one of ours by its tables.
    static func headerFindings(of store: Store) throws(SQLiteError) -> [CacheFinding] {
        let configuration = DiamondSchema.cache
        let expected = try CacheSchema.expected()
        return try SQLiteDatabase.look(at: store.cachePath, configuration) { (connection) throws(SQLiteError) in
            let (settings, schema) = try (CacheTable.settings(on: connection), CacheTable.schema(on: connection))
            return settings.mistake(schema, expected).map { [CacheFinding(kind: .header, what: $0)] } ?? []
        }
    }

    static func schemaFindings(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [CacheFinding] {
        let faults = try CacheTable.schema(on: connection).faults(comparedTo: .expected())
        return faults.map { fault in
            // No statement fits what it holds.
            let isOther = fault.cause == .changed && fault.part.kind == .table
            return CacheFinding(kind: isOther ? .file : .schema, what: fault.what, fault: fault)
        }
    }

    /// Mends what the rest stands on, and then the rest, which can only be read now.
    func repairStructure() throws(CacheError) -> [CacheRepair] {
        let repairs: [CacheRepair]
        do throws(SQLiteError) { repairs = try mendHeader() + mendSchema() } catch { throw CacheError(error) }
        let rest = try CacheInspection(of: store, seal: seal, now: now)
        // What could not be mended is not tried again and again.
        let isStuck = rest.findings.contains { finding in findings.contains { $0 == finding && $0.isStructural } }
        return isStuck ? repairs : repairs + (try rest.repair())
    }

    private func mendHeader() throws(SQLiteError) -> [CacheRepair] {
        let headers = findings.filter { $0.kind == .header }
        guard !headers.isEmpty else { return [] }
        let expected = try CacheSchema.expected()
        let isDone = try SQLiteDatabase.stamp(store.cachePath, DiamondSchema.cache) {
            (connection) throws(SQLiteError) in
            let schema = try CacheTable.schema(on: connection)
            return try CacheTable.settings(on: connection).mistake(schema, expected) != nil
        }
        return headers.map { CacheRepair(finding: $0, done: isDone ? "set" : nil) }
    }

    private func mendSchema() throws(SQLiteError) -> [CacheRepair] {
        let faulty = findings.filter { $0.kind == .schema }
        guard !faulty.isEmpty else { return [] }
        let (faults, expected) = (faulty.compactMap(\.fault), try CacheSchema.expected())
        let mended = try Self.open(store).write { (connection) throws(SQLiteError) in
            try CacheTable.mend(faults, expected, on: connection)
        }
        return faulty.map { finding in
            guard let fault = finding.fault, mended.contains(fault) else { return CacheRepair(finding: finding) }
            return CacheRepair(finding: finding, done: fault.cause == .surplus ? "dropped" : "made anew")
        }
    }
}

extension CacheFinding {
    /// Whether others can only be found when it is mended.
    var isStructural: Bool { kind == .header || kind == .schema }
}

extension CacheTable.Settings {
    /// Returns the mistake in the header of the file, judged by what the file holds; `nil` where the header is right,
    /// is to be migrated, is newer, or is another program's.
    func mistake(_ schema: CacheSchema, _ expected: CacheSchema) -> String? {
        let (id, version) = (Int64(DiamondSchema.cache.applicationID), Int64(DiamondSchema.cache.migrations.count))
        guard schemaVersion <= version, schema.hasTables(of: expected) else { return nil }
        if applicationID != id { return "the application id is \(applicationID), not \(id)" }
        // An older file may lack no more than an index.
        guard schemaVersion != version, schema.hasAllParts(of: expected) else { return nil }
        return "the schema's version is \(schemaVersion), not \(version)"
    }
}
