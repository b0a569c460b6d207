package import DiamondSQLite
import Foundation

/// The secret of a sealed store, which makes digests of credentials, tags and identities. Each key seals it under its
/// own name, next to those of other keys. A new key takes over the secret that an older one has sealed, so that digests
/// stay the same.
package struct SealedSecret {
    private static let context = Data("diamond 1 secret".utf8)

    private let seal: any CacheSeal

    package init(_ seal: any CacheSeal) { self.seal = seal }

    /// Returns the kept secret, or a fresh one.
    ///
    /// - Parameter keeps: whether the secret is kept if there is none; `false` for callers that only read.
    func find(in database: SQLiteDatabase, orKeep keeps: Bool, _ fresh: Data) throws(SQLiteError) -> Data {
        let kept = try database.read(CacheTable.sealedSecrets)
        if let own = kept[seal.keyID], let secret = try open(own, seal.keyID, database.path) { return secret }
        let older = try older(among: kept, database.path)
        let secret = older?.secret ?? fresh
        return keeps ? try keep(secret, in: database, replacing: kept[seal.keyID], older?.keyID) : secret
    }

    /// Whether the key is the one that sealed the secret under its name. It is `true` if there is no such secret.
    package func isRight(for database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        guard let own = try database.read(CacheTable.sealedSecrets)[seal.keyID] else { return true }
        return try open(own, seal.keyID, database.path) != nil
    }

    private func older(
        among kept: [String: Data],
        _ path: String
    ) throws(SQLiteError) -> (keyID: String, secret: Data)? {
        for (id, bytes) in kept.sorted(by: { $0.key < $1.key }) where id != seal.keyID {
            if let secret = try open(bytes, id, path) { return (id, secret) }
        }
        return nil
    }

    private func keep(
        _ secret: Data,
        in database: SQLiteDatabase,
        replacing damaged: Data?,
        _ older: String?
    ) throws(SQLiteError) -> Data {
        let keyID = seal.keyID
        let sealed: Data
        do {
            sealed = try seal.seal(secret, context: Self.context)
        } catch {
            throw SQLiteError(cannotSeal: error, path: database.path)
        }
        // Another process may have been faster: what is in the file counts.
        let kept = try database.write { (connection) throws(SQLiteError) in
            try CacheTable.saveSecret(sealed, keyID: keyID, replacing: damaged, on: connection)
            if let older { try CacheTable.deleteSecret(keyID: older, on: connection) }
            return try CacheTable.sealedSecrets(on: connection)[keyID]
        }
        guard let kept, kept != sealed else { return secret }
        return try open(kept, seal.keyID, database.path) ?? secret
    }

    /// `nil` where the key is unknown, or the bytes are not authentic.
    private func open(_ bytes: Data, _ keyID: String, _ path: String) throws(SQLiteError) -> Data? {
        do {
            return try seal.open(bytes, keyID: keyID, context: Self.context)
        } catch let error as CacheSealError where [.unknownKey, .notAuthentic].contains(error.code) {
            return nil
        } catch {
            throw SQLiteError(cannotSeal: error, path: path)
        }
    }
}
