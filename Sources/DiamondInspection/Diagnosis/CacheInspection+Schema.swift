import Diamond
import DiamondSQLite
import DiamondSchema

/// The checks that all others depend on: the header of the file, and its tables, indexes and triggers.
extension CacheInspection {
    /// Returns the findings about the header of a file with Diamond's tables.
    static func headerFindings(of store: Store) throws(SQLiteError) -> [CacheFinding] {
        let configuration = DiamondSchema.cache
        let expected = try CacheSchema.expected()
        return try SQLiteDatabase.inspect(at: store.cachePath, configuration: configuration) {
            (connection) throws(SQLiteError) in
            let settings = try CacheTable.settings(on: connection)
            let schema = try CacheTable.schema(on: connection)
            return settings.headerMistake(in: schema, expected: expected).map {
                [CacheFinding(kind: .header, what: $0)]
            } ?? []
        }
    }

    static func schemaFindings(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [CacheFinding] {
        let faults = try CacheTable.schema(on: connection).faults(comparedTo: .expected())
        return faults.map { fault in
            // The rows of a changed table cannot be read.
            let isUnreadable = fault.cause == .changed && fault.part.kind == .table
            return CacheFinding(kind: isUnreadable ? .file : .schema, what: fault.what, fault: fault)
        }
    }

    /// Repairs the header and the schema, then the rest, which cannot be read before.
    func repairStructure() throws(CacheError) -> [CacheRepair] {
        let repairs: [CacheRepair]
        do throws(SQLiteError) { repairs = try repairHeader() + repairSchema() } catch { throw CacheError(error) }
        let rest = try CacheInspection(of: store, seal: seal, now: now)
        // A repair that failed is not tried again.
        let isStuck = rest.findings.contains { finding in findings.contains { $0 == finding && $0.isStructural } }
        return isStuck ? repairs : repairs + (try rest.repair())
    }

    private func repairHeader() throws(SQLiteError) -> [CacheRepair] {
        let headers = findings.filter { $0.kind == .header }
        guard !headers.isEmpty else { return [] }
        let expected = try CacheSchema.expected()
        let isDone = try SQLiteDatabase.stamp(path: store.cachePath, configuration: DiamondSchema.cache) {
            (connection) throws(SQLiteError) in
            let schema = try CacheTable.schema(on: connection)
            return try CacheTable.settings(on: connection).headerMistake(in: schema, expected: expected) != nil
        }
        return headers.map { CacheRepair(finding: $0, action: isDone ? "set" : nil) }
    }

    private func repairSchema() throws(SQLiteError) -> [CacheRepair] {
        let faulty = findings.filter { $0.kind == .schema }
        guard !faulty.isEmpty else { return [] }
        let faults = faulty.compactMap(\.fault)
        let expected = try CacheSchema.expected()
        let repaired = try Self.open(store).write { (connection) throws(SQLiteError) in
            try CacheTable.repair(faults, comparedTo: expected, on: connection)
        }
        return faulty.map { finding in
            guard let fault = finding.fault, repaired.contains(fault) else { return CacheRepair(finding: finding) }
            return CacheRepair(finding: finding, action: fault.cause == .surplus ? "dropped" : "created")
        }
    }
}

extension CacheFinding {
    /// Whether other parts can be checked only after its repair.
    var isStructural: Bool { kind == .header || kind == .schema }
}

extension CacheTable.Settings {
    /// Returns the mistake in the header of a file, judged by its tables. It is `nil` if the header is right, if the
    /// file must be migrated or is newer, or if it belongs to another program.
    func headerMistake(in schema: CacheSchema, expected: CacheSchema) -> String? {
        let id = Int64(DiamondSchema.cache.applicationID)
        let version = Int64(DiamondSchema.cache.migrations.count)
        guard schemaVersion <= version, schema.hasTables(of: expected) else { return nil }
        if applicationID != id { return "the application id is \(applicationID), not \(id)" }
        // An older file may lack only an index.
        guard schemaVersion < DiamondSchema.firstCacheForm, schema.hasAllParts(of: expected) else { return nil }
        return "the schema's version is \(schemaVersion), not \(version)"
    }
}
