package import DiamondSQLite
import Foundation

/// The secret of a sealed store. Digests of credentials, tags, identities, URLs and hosts are made with it. It is
/// stored sealed. When the key changes, the secret is opened with the older key and sealed with the new one, so that
/// digests stay the same. The copy that the older key had sealed is deleted.
package struct SealedSecret {
    private static let context = Data("diamond 1 secret".utf8)

    private let seal: any CacheSeal

    package init(_ seal: any CacheSeal) { self.seal = seal }

    /// Returns the store's secret.
    ///
    /// - Parameters:
    ///   - new: the secret of a store that has none.
    ///   - savesNew: whether a secret that this key has not sealed yet is saved; `false` for callers that only read.
    /// - Throws: `cannotSeal` if another key owns the store: the seal opens neither the secret nor an entry. Nothing is
    ///   changed then. A caller that only reads gets `new`.
    func find(in database: SQLiteDatabase, new: Data, savesNew: Bool) throws(SQLiteError) -> Data {
        let stored = try database.read(CacheTable.sealedSecrets)
        if let own = stored[seal.keyID], let secret = try open(own, keyID: seal.keyID, path: database.path) {
            return secret
        }
        let older = try older(among: stored, path: database.path)
        let secret = older?.secret ?? new
        guard savesNew else { return secret }
        if older == nil { try refuseOtherOwner(of: database) }
        return try save(secret, in: database, replacing: stored[seal.keyID], olderKeyID: older?.keyID)
    }

    /// Throws if the store has sealed rows, and the seal opens none of them. If it opens some, the secret is lost.
    private func refuseOtherOwner(of database: SQLiteDatabase) throws(SQLiteError) {
        let samples = try database.read(CacheTable.sealedSamples)
        guard let first = samples.first else { return }
        for sample in samples where try opens(sample, path: database.path) { return }
        throw SQLiteError(
            .cannotSeal,
            "has entries sealed with the key '\(first.keyID)', which this seal does not have: pass it as an older key, or "
                + "purge the store",
            path: database.path)
    }

    /// Whether the seal has the key of a row.
    func opens(_ sample: CacheTable.SealedSample, path: String) throws(SQLiteError) -> Bool {
        // Opening a row does not need the store's secret.
        let sealing = Sealing(seal, secret: Data())
        do {
            _ = try seal.open(
                sample.bytes, keyID: sample.keyID, context: sealing.context(sample.column, of: sample.key))
            return true
        } catch let error as CacheSealError where [.unknownKey, .notAuthentic].contains(error.code) {
            return false
        } catch {
            throw SQLiteError(cannotSeal: error, path: path)
        }
    }

    /// Whether the key opens the secret that is stored under the key's name. It is `true` if none is stored under
    /// that name.
    package func isRight(for database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        guard let own = try database.read(CacheTable.sealedSecrets)[seal.keyID] else { return true }
        return try open(own, keyID: seal.keyID, path: database.path) != nil
    }

    /// A secret that an older key has sealed.
    private struct OlderSecret {
        let keyID: String
        let secret: Data
    }

    private func older(among secrets: [String: Data], path: String) throws(SQLiteError) -> OlderSecret? {
        for (id, bytes) in secrets.sorted(by: { $0.key < $1.key }) where id != seal.keyID {
            if let secret = try open(bytes, keyID: id, path: path) {
                return OlderSecret(keyID: id, secret: secret)
            }
        }
        return nil
    }

    private func save(
        _ secret: Data,
        in database: SQLiteDatabase,
        replacing damaged: Data?,
        olderKeyID: String?
    ) throws(SQLiteError) -> Data {
        let keyID = seal.keyID
        let sealed: Data
        do {
            sealed = try seal.seal(secret, context: Self.context)
        } catch {
            throw SQLiteError(cannotSeal: error, path: database.path)
        }
        // Another process may have saved one first: the secret in the file counts.
        let saved = try database.write { (connection) throws(SQLiteError) in
            try CacheTable.saveSecret(sealed, keyID: keyID, replacing: damaged, on: connection)
            let saved = try CacheTable.sealedSecrets(on: connection)[keyID]
            if let olderKeyID {
                try CacheTable.deleteSecret(keyID: olderKeyID, on: connection)
            } else if saved == sealed {
                // The digests of the rows are those of a lost secret.
                try CacheTable.deleteSecrets(exceptOf: keyID, on: connection)
                try CacheTable.clearSealedIdentities(on: connection)
            }
            return saved
        }
        guard let saved, saved != sealed else { return secret }
        return try open(saved, keyID: seal.keyID, path: database.path) ?? secret
    }

    /// Opens a sealed secret; `nil` if the key is unknown, or the bytes are not authentic.
    private func open(_ bytes: Data, keyID: String, path: String) throws(SQLiteError) -> Data? {
        do {
            return try seal.open(bytes, keyID: keyID, context: Self.context)
        } catch let error as CacheSealError where [.unknownKey, .notAuthentic].contains(error.code) {
            return nil
        } catch {
            throw SQLiteError(cannotSeal: error, path: path)
        }
    }
}
