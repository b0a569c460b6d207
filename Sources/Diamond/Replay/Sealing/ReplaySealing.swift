import Crypto
import DiamondSQLite
import Foundation

/// The sealing of a queue: the values of its rows that are sealed, and the keyed digests in place of names.
///
/// Each value is bound to its job and its column, so that it cannot be moved. The values that are found by name are
/// keyed digests: identities, ordering keys, unique names, hosts, tags, and the names of holds. A reader of the file
/// sees which jobs share one, but cannot guess and test the value.
struct ReplaySealing: Sendable {
    enum Column: String { case details, request, answer, failure, hold, identity, key, unique, host, tag, object }

    let seal: any CacheSeal
    /// The key of the digests.
    private let names: SymmetricKey
    /// A value of the queue's secret, to which all values are bound, so that they cannot be moved to another queue.
    private let binding: Data

    init(_ seal: any CacheSeal, secret: Data) {
        self.seal = seal
        names = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Data("diamond queue names".utf8), outputByteCount: 32)
        binding = Data(HMAC<SHA256>.authenticationCode(for: Data("diamond queue values".utf8), using: names))
    }

    // MARK: Names

    /// Returns the digest in place of a name, which has 128 bits.
    func digest(of name: String, _ column: Column) -> String {
        Hex.text(of: digest(of: Data(name.utf8), column).prefix(16))
    }

    func digest(of bytes: Data, _ column: Column) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data("\(column.rawValue) ".utf8) + bytes, using: names))
    }

    // MARK: Values

    /// Seals a value.
    ///
    /// - Parameter subject: the id of its job, and what else the value is bound to.
    func sealed(_ clear: Data, _ column: Column, of subject: String) throws(SQLiteError) -> Data {
        let id = Data(seal.keyID.utf8.prefix(Int(UInt16.max)))
        let count = withUnsafeBytes(of: UInt16(id.count).littleEndian) { Data($0) }
        do { return count + id + (try seal.seal(clear, context: context(column, subject))) } catch {
            throw SQLiteError(cannotSeal: error, path: Self.path)
        }
    }

    /// Opens a value; `nil` if it is not authentic, or its key is unknown: the secret's key is known, so that only this
    /// value is affected.
    ///
    /// - Throws: the error `cannotSeal` if the seal fails.
    func opened(_ value: Data, _ column: Column, of subject: String) throws(SQLiteError) -> Data? {
        let count = value.prefix(2).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        guard value.count >= 2 + count, let id = String(validating: value.dropFirst(2).prefix(count), as: UTF8.self)
        else { return nil }
        do {
            let bytes = Data(value.dropFirst(2 + count))
            return try seal.open(bytes, keyID: id, context: context(column, subject))
        } catch let error as CacheSealError where [.notAuthentic, .unknownKey].contains(error.code) {
            return nil
        } catch {
            throw SQLiteError(cannotSeal: error, path: Self.path)
        }
    }

    private static let path = "replay.sqlite"

    private func context(_ column: Column, _ subject: String) -> Data {
        Data("diamond 1 queue \(column.rawValue) \(subject)\n".utf8) + binding
    }
}

extension SQLiteConnection {
    /// The sealing of the queue; `nil` for a queue in clear.
    var sealing: ReplaySealing? { (context as? ReplaySealSlot)?.sealing }

    /// Returns a name as it is in a column: its digest in a sealed queue.
    func stored(_ name: String, _ column: ReplaySealing.Column) -> String {
        sealing?.digest(of: name, column) ?? name
    }

    func stored(identity: String?) -> String? {
        guard let identity else { return nil }
        return stored(identity, .identity)
    }

    func stored(orderingKey: String?) -> String? {
        guard let orderingKey else { return nil }
        return stored(orderingKey, .key)
    }

    /// Returns the local id of an object that a job creates as it is in its column; empty for none.
    func stored(_ creation: ReplayCreation?) -> String {
        guard let creation else { return "" }
        return stored(creation.localID, .object)
    }

    func stored(uniqueKey: Data) -> Data { sealing?.digest(of: uniqueKey, .unique) ?? uniqueKey }

    /// Returns the stored bytes of a request as they were before they were sealed; `nil` if they are not authentic.
    func opened(request: Data, of id: Int64) throws(SQLiteError) -> Data? {
        guard let sealing else { return request }
        return try sealing.opened(request, .request, of: "\(id)")
    }
}
