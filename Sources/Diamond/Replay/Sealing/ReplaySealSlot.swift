import Crypto
import DiamondSQLite
import Foundation

/// The queue's secret. It is created when a queue is sealed, and stored sealed. The row that has it says that the queue
/// is sealed.
extension ReplaySealing {
    private static let secretContext = Data("diamond 1 queue secret".utf8)

    /// Reads the secret.
    ///
    /// - Parameters:
    ///   - answers: the answers of jobs whose outcomes are not written. They are found by the digests of the requests,
    ///     which change.
    ///   - mayReseal: whether to seal a queue in clear, and to seal all values again if another key has sealed the
    ///     secret. Otherwise a queue in clear stays in clear.
    /// - Throws: the error `cannotSeal` if the seal does not have the key of the queue. Then nothing is changed.
    func open(_ database: SQLiteDatabase, answers: AnswerLog, mayReseal: Bool) throws(SQLiteError) {
        let found = try database.read { (connection) throws(SQLiteError) in try find(on: connection) }
        guard mayReseal else { return }
        if found?.keyID != seal.keyID { try reseal(database, answers: answers) }
        try overwrite(database)
    }

    private func reseal(_ database: SQLiteDatabase, answers: AnswerLog) throws(SQLiteError) {
        let resealed = try database.write { (connection) throws(SQLiteError) -> [ReplayTable.ResealedAnswer]? in
            // Read again: another process may have sealed the queue meanwhile.
            let found = try find(on: connection)
            guard found?.keyID != seal.keyID else { return nil }
            guard try found == nil ? !ReplayTable.hasSealedJobs(on: connection) : true else {
                throw SQLiteError(
                    .cannotSeal, "has sealed jobs without the secret: put back a copy of the file",
                    path: "replay.sqlite")
            }
            let secret = found?.secret ?? SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
            use(secret: secret)
            try ReplayTable.saveSecret(sealed(secret: secret), keyID: seal.keyID, on: connection)
            return try ReplayTable.reseal(wasSealed: found != nil, by: self, answers: answers, on: connection)
        }
        for answer in resealed ?? [] { answers.note(answer.status, of: answer.row) }
    }

    /// Overwrites the values in clear, also in the log. If this fails, or the process ends before, the next open queue
    /// does it.
    private func overwrite(_ database: SQLiteDatabase) throws(SQLiteError) {
        let stored = try database.read { (connection) throws(SQLiteError) in try ReplayTable.secret(on: connection) }
        guard stored?.isOverwritten == false else { return }
        try database.rewrite()
        try database.write { (connection) throws(SQLiteError) in try ReplayTable.setOverwritten(on: connection) }
    }

    /// The secret, and the name of the key that has sealed it.
    private struct Secret {
        var secret: Data
        var keyID: String
    }

    /// Opens the secret, and uses it; `nil` for a queue in clear.
    private func find(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Secret? {
        guard let stored = try ReplayTable.secret(on: connection) else { return nil }
        do {
            let secret = try seal.open(stored.value, keyID: stored.keyID, context: Self.secretContext)
            use(secret: secret)
            return Secret(secret: secret, keyID: stored.keyID)
        } catch let error as CacheSealError where error.code == .unknownKey {
            throw ReplayTable.sealedError("with the key '\(stored.keyID)', not '\(seal.keyID)'")
        } catch let error as CacheSealError where error.code == .notAuthentic {
            throw ReplayTable.sealedError("with another key that has the name '\(stored.keyID)'")
        } catch {
            throw SQLiteError(cannotSeal: error, path: "replay.sqlite")
        }
    }

    private func sealed(secret: Data) throws(SQLiteError) -> Data {
        do { return try seal.seal(secret, context: Self.secretContext) } catch {
            throw SQLiteError(cannotSeal: error, path: "replay.sqlite")
        }
    }
}

extension ReplayTable {
    /// Throws if the queue is sealed, and this process has opened it without a seal.
    static func refuseIfSealed(on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        guard connection.sealing == nil, let keyID = try secret(on: connection)?.keyID else { return }
        throw sealedError("with the key '\(keyID)'")
    }

    /// Returns the error for a sealed queue.
    fileprivate static func sealedError(_ text: String) -> SQLiteError {
        SQLiteError(.cannotSeal, "is sealed \(text): open it with a seal that has its key", path: "replay.sqlite")
    }
}
