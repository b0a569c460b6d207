public import Foundation

/// What seals the bytes of a store, so that its files show nothing in clear, and opens them again: ``AESGCMSeal``, or an
/// app's own over a keychain or a service for keys.
///
/// Called on any thread, several at once, for every value that is written and read: be quick, and keep the keys at hand.
/// What is thrown shows only the name of its type, unless it is a ``CacheSealError``.
public protocol CacheSeal: Sendable {
    /// The name of the key that ``seal(_:context:)`` uses. It stands beside what is sealed, in clear, and is no secret;
    /// another key has another name.
    var keyID: String { get }

    /// Seals bytes with the key of ``keyID``, each time differently: equal bytes must not be seen to be equal.
    ///
    /// Called outside of transactions: other processes can write to the store meanwhile. What this process stores waits.
    ///
    /// - Parameters:
    ///   - bytes: a URL, headers, or 128 KiB of a body at most.
    ///   - context: what the bytes are of. It is not kept: opening has to refuse where it is another one, so that nobody
    ///     can put a value in the place of another.
    func seal(_ bytes: Data, context: Data) throws -> Data

    /// Opens what ``seal(_:context:)`` made with a key.
    ///
    /// - Parameters:
    ///   - bytes: what was sealed.
    ///   - keyID: the name of the key, which may be an older one.
    ///   - context: what the bytes are of, as it was when they were sealed.
    /// - Throws: ``CacheSealError``: `unknownKey` leaves what is stored in its place, `notAuthentic` lets it be dropped;
    ///   any other error leaves it.
    func open(_ bytes: Data, keyID: String, context: Data) throws -> Data
}
