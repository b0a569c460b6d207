package import Diamond
import DiamondSQLite
import DiamondSchema
import Foundation

extension CacheInspection {
    /// Repairs the findings. It removes damaged parts, and sets a malformed file aside, as a program would.
    package func repair() throws(CacheError) -> [CacheRepair] {
        guard !findings.contains(where: { $0.kind == .file }) else { return try setAside() }
        guard !findings.contains(where: \.isStructural) else { return try repairStructure() }
        do throws(SQLiteError) {
            let database = try Self.open(store)
            var repairs: [CacheRepair] = []
            // Each in its own transaction, so that other processes can write in between.
            for finding in findings { repairs.append(try repair(finding, in: database)) }
            try renewChecksums(in: database)
            return repairs
        } catch {
            throw CacheError(error)
        }
    }

    /// Gives the entries of older programs the checksums of their bodies that a new one has.
    private func renewChecksums(in database: SQLiteDatabase) throws(SQLiteError) {
        for prefix in try database.read(CacheTable.renewable) {
            let renewal = try database.read { (connection) throws(SQLiteError) in
                try CacheTable.renewal(of: prefix, on: connection)
            }
            guard let renewal else { continue }
            try database.write { (connection) throws(SQLiteError) in try CacheTable.write(renewal, on: connection) }
        }
    }

    private func repair(_ finding: CacheFinding, in database: SQLiteDatabase) throws(SQLiteError) -> CacheRepair {
        // Sealed entries are opened before the transaction.
        let entry = try database.read { (connection) throws(SQLiteError) in
            guard finding.kind == .entry else { return nil as CacheTable.InspectedEntry? }
            return try CacheTable.inspect(finding.id ?? 0, sealing: sealing, on: connection)
        }
        let action = try database.write { (connection) throws(SQLiteError) in
            try repair(finding, entry: entry, on: connection)
        }
        return CacheRepair(finding: finding, action: action)
    }

    private func repair(
        _ finding: CacheFinding,
        entry: CacheTable.InspectedEntry?,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> String? {
        switch finding.kind {
        case .file, .header, .schema: return nil
        case .surplus: return try CacheTable.deleteSurplus(of: finding.id ?? 0, on: connection) ? "dropped" : nil
        case .entry:
            guard let entry, entry.damage != nil else { return nil }
            let isDropped = try CacheTable.deleteDamaged(finding.id ?? 0, checksum: entry.checksum, on: connection)
            return isDropped ? "dropped" : nil
        case .body, .tags: return try CacheTable.deleteOrphans(of: finding.id ?? 0, on: connection) ? "dropped" : nil
        case .partial:
            let isLeft = try CacheTable.deleteLeftover(finding.id ?? 0, at: now, on: connection)
            return isLeft ? "dropped" : nil
        case .download:
            guard let row = try CacheTable.download(finding.id ?? 0, on: connection), row.fault(at: now) != nil else {
                return nil
            }
            guard try CacheTable.delete(row, on: connection) else { return nil }
            row.path.map(PartFile.removeUnlocked)
            return "dropped"
        case .hand:
            try CacheTable.setHand(0, on: connection)
            return "set to the beginning"
        case .secret:
            // The key may be missing here, and a sealed store has no secret in plain text.
            guard try CacheTable.seals(on: connection).isEmpty else { return "left to the next program with the key" }
            guard try CacheTable.replaceSecret(by: CacheFile.newSecret(), on: connection) else { return nil }
            return "created; entries of requests with credentials are no longer found"
        }
    }

    private func setAside() throws(CacheError) -> [CacheRepair] {
        let old = try? Self.open(store)
        let secret = try? old?.read(CacheTable.secret)
        let sealed = (try? old?.read(CacheTable.sealedSecrets)) ?? [:]
        let path = try CacheFile.setAside(store, ifStill: fileNumber)
        // The new file has the secret of the running programs. If it cannot be read, the next of them creates the file.
        if path != nil, secret != nil || !sealed.isEmpty { try createFile(secret: secret, sealedSecrets: sealed) }
        let action = path.map { "set aside as \(URL(filePath: $0).lastPathComponent)" }
        return findings.map { CacheRepair(finding: $0, action: action) }
    }

    private func createFile(secret: Data?, sealedSecrets: [String: Data]) throws(CacheError) {
        do throws(SQLiteError) {
            try Self.open(store).write { (connection) throws(SQLiteError) in
                if let secret { try CacheTable.saveSecret(secret, on: connection) }
                for (id, bytes) in sealedSecrets {
                    try CacheTable.saveSecret(bytes, keyID: id, replacing: nil, on: connection)
                }
            }
        } catch {
            throw CacheError(error)
        }
    }
}
