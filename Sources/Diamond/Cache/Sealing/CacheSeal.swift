public import Foundation

/// A seal for the bytes of a store. It seals them, so that the store's files show nothing in clear, and opens them
/// again. Use ``AESGCMSeal``, or an app's own seal over a keychain or a service for keys.
///
/// The functions are called on any thread, several at once, for every value that is written and read: be quick, and
/// keep the keys at hand. An error that they throw shows only the name of its type, unless it is a ``CacheSealError``.
public protocol CacheSeal: Sendable {
    /// The name of the key that ``seal(_:context:)`` uses. The store keeps it in clear, next to the sealed bytes: it is
    /// no secret. Another key has another name.
    var keyID: String { get }

    /// Seals bytes with the key of ``keyID``. The result differs each time: equal bytes must not be seen to be equal.
    ///
    /// It is called outside of transactions, so other processes can write to the store meanwhile. The writes of this
    /// process wait.
    ///
    /// - Parameters:
    ///   - bytes: a URL, headers, or 128 KiB of a body at most.
    ///   - context: what the bytes are of. It is not stored. Opening has to refuse another context, so that a value
    ///     cannot be put in the place of another.
    func seal(_ bytes: Data, context: Data) throws -> Data

    /// Opens bytes that ``seal(_:context:)`` made with a key.
    ///
    /// - Parameters:
    ///   - bytes: the sealed bytes.
    ///   - keyID: the name of the key, which may be an older one.
    ///   - context: what the bytes are of, as it was when they were sealed.
    /// - Throws: ``CacheSealError``. After `unknownKey` the sealed bytes stay in the store. After `notAuthentic` they
    ///   may be dropped. After any other error they stay.
    func open(_ bytes: Data, keyID: String, context: Data) throws -> Data
}
