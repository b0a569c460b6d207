/// The reason why this process cannot read an entry that is not damaged. The entry stays, and counts as a miss.
enum UnreadableReason: Hashable, Sendable {
    /// The entry is in clear, and a sealed cache reads only sealed entries.
    case inClear
    /// It is sealed, and no seal was given.
    case sealed(keyID: String)
    /// It is sealed with a key that the seal does not have.
    case unknownKey(String)
    /// Its body is compressed, and this program was built without the trait `Compression`.
    case compressed
    /// The seal cannot open it now, for this reason.
    case failure(String)

    /// The message: what happened and what to do, in one line.
    var message: String {
        switch self {
        case .inClear: "the store has entries in clear, which a sealed cache does not read: purge them"
        case .sealed(let id): "the store has entries sealed with the key '\(id)': give the cache a seal with it"
        case .unknownKey(let id): "the store has entries sealed with the key '\(id)': give it as an older key"
        case .compressed: "the store has compressed entries: build this program with the trait Compression"
        case .failure(let error): "the store has entries that its seal cannot open now (\(error))"
        }
    }
}
