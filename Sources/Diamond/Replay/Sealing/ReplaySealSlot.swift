import Crypto
import DiamondSQLite
import Foundation

/// The seal of an opened queue, and the sealing that it makes with the queue's secret. The secret is created when a queue
/// is sealed, and stored sealed. The row that has it says that the queue is sealed.
final class ReplaySealSlot: Sendable {
    private static let secretContext = Data("diamond 1 queue secret".utf8)

    private let seal: any CacheSeal
    private let opened = Guarded<ReplaySealing?>(nil)

    init(_ seal: any CacheSeal) { self.seal = seal }

    /// The sealing; `nil` until the secret is known: the queue is in clear.
    var sealing: ReplaySealing? { opened.withLock { $0 } }

    /// Whether ``seal(_:answers:)`` has something to do: the queue is in clear, an older key has sealed it, or values in
    /// clear are left in the file. Reads the secret.
    ///
    /// - Throws: the error `cannotSeal` if the seal does not have the key of the queue.
    func isBehind(_ database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try database.read { (connection) throws(SQLiteError) in
            let found = try find(on: connection)
            return found?.needsReseal ?? true || found?.isOverwritten == false
        }
    }

    /// Seals a queue in clear, and seals all values again if an older key has sealed the secret. Overwrites what was in
    /// clear. A key that another one has replaced replaces no key: otherwise two programs with different keys would seal
    /// all values again in turn.
    ///
    /// - Parameter answers: the answers of jobs whose outcomes are not written. They are found by the digests of the
    ///   requests, which change.
    /// - Throws: the error `cannotSeal` if the seal does not have the key of the queue. Then nothing is changed.
    func seal(_ database: SQLiteDatabase, answers: AnswerLog) throws(SQLiteError) {
        let resealed = try database.write { (connection) throws(SQLiteError) -> [ReplayTable.ResealedAnswer] in
            // Read again: another process may have sealed the queue meanwhile.
            let found = try find(on: connection)
            guard found?.needsReseal ?? true else { return [] }
            let isLost = found == nil ? try ReplayTable.hasSealedJobs(on: connection) : false
            guard !isLost else {
                throw SQLiteError(
                    .cannotSeal, "has sealed jobs without the secret: put back a copy of the file",
                    path: "replay.sqlite")
            }
            let secret = found?.secret ?? SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
            try ReplayTable.saveSecret(sealed(secret: secret), keyID: seal.keyID, on: connection)
            return try ReplayTable.reseal(
                wasSealed: found != nil, by: use(secret), answers: answers, on: connection)
        }
        // They are in clear, or sealed with the older key. Without them, their jobs are sent again.
        answers.eraseContents { _ in true }
        for answer in resealed { answers.note(answer.status, of: answer.row) }
        try database.rewrite()
        try database.write { (connection) throws(SQLiteError) in try ReplayTable.setOverwritten(on: connection) }
    }

    /// The secret, and what is left to do.
    private struct Secret {
        var secret: Data
        var needsReseal: Bool
        var isOverwritten: Bool
    }

    /// Opens the secret, and uses it; `nil` for a queue in clear.
    private func find(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Secret? {
        guard let stored = try ReplayTable.secret(on: connection) else { return nil }
        let needsReseal = try stored.keyID != seal.keyID ? !ReplayTable.isReplaced(seal.keyID, on: connection) : false
        do {
            let secret = try seal.open(stored.value, keyID: stored.keyID, context: Self.secretContext)
            use(secret)
            return Secret(secret: secret, needsReseal: needsReseal, isOverwritten: stored.isOverwritten)
        } catch let error as CacheSealError where error.code == .unknownKey {
            throw ReplayTable.sealedError("with the key '\(stored.keyID)', not '\(seal.keyID)'")
        } catch let error as CacheSealError where error.code == .notAuthentic {
            throw ReplayTable.sealedError("with another key that has the name '\(stored.keyID)'")
        } catch {
            throw SQLiteError(cannotSeal: error, path: "replay.sqlite")
        }
    }

    @discardableResult
    private func use(_ secret: Data) -> ReplaySealing {
        let sealing = ReplaySealing(seal, secret: secret)
        opened.withLock { $0 = sealing }
        return sealing
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
