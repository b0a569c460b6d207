public import Foundation

/// An authenticated encryption of the values in a store's files. Use ``AESGCMSeal``, or an app's own seal over a
/// keychain or a key service.
///
/// The functions are called on any thread, several at once, for every value that is written and read: be quick, and
/// hold the keys in memory. A thrown ``CacheSealError`` is reported with its message; of any other error, only the name
/// of its type.
public protocol CacheSeal: Sendable {
    /// The name of the key that ``seal(_:context:)`` uses. The store writes it in clear, next to the sealed bytes: it
    /// must not be secret. Different keys have different names.
    var keyID: String { get }

    /// Seals bytes with the key of ``keyID``. The result differs each time, so that equal values are not recognizable.
    ///
    /// The cache calls it outside of transactions, so other processes can write to the store during the call. The
    /// writes of this process wait. The queue calls it in its transactions, so the writes of other processes wait, too.
    ///
    /// - Parameters:
    ///   - bytes: a URL, headers, or 128 KiB of a body at most; of a job, its whole request or answer.
    ///   - context: the additional authenticated data: it tells to which entry or job, and to which column the bytes
    ///     belong. It is not stored. Opening has to fail with another context, so that no value can be moved to another
    ///     place.
    func seal(_ bytes: Data, context: Data) throws -> Data

    /// Opens bytes that ``seal(_:context:)`` made with a key.
    ///
    /// - Parameters:
    ///   - bytes: the sealed bytes.
    ///   - keyID: the name of the key, which may be an older one.
    ///   - context: the context that they were sealed with.
    /// - Throws: ``CacheSealError``. After `unknownKey` the sealed bytes stay in the store. After `notAuthentic` they
    ///   may be dropped. After any other error they stay.
    func open(_ bytes: Data, keyID: String, context: Data) throws -> Data
}
