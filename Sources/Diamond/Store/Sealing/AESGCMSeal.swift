import Crypto
public import Foundation

/// A seal with AES in Galois/Counter Mode (NIST SP 800-38D), with 96 random bits as each value's nonce.
///
/// ```swift
/// var configuration = Engine.Configuration()
/// configuration.seal = try AESGCMSeal(key: key)
/// ```
///
/// Random nonces allow 2^32 values for one key (section 8.3). An entry takes two values, and one more for each 128 KiB
/// of its body. A download into a file takes one for each 128 KiB. Change the key before a store has written a billion
/// entries.
///
/// A key is never shown: not by `print` and `dump`, and not in an error.
public struct AESGCMSeal: CacheSeal {
    /// The name of the key that seals.
    public let keyID: String
    private let key: SymmetricKey
    private let olderKeys: [String: SymmetricKey]

    /// Creates a seal that seals with a key, and opens values sealed with that key or with an older one.
    ///
    /// Pass a new key as `key`, and the previous one by its name in `olderKeys`. Entries are sealed with the new key
    /// when they are stored or revalidated. If several processes share the store, each of them needs the new key in
    /// `olderKeys` before the first one seals with it.
    ///
    /// - Parameters:
    ///   - key: 16, 24 or 32 random bytes.
    ///   - id: the key's name, which is no secret; ``id(of:)`` by default.
    ///   - olderKeys: the older keys by their names.
    /// - Throws: ``CacheSealError`` if a key has another length.
    public init(key: Data, id: String? = nil, olderKeys: [String: Data] = [:]) throws(CacheSealError) {
        self.key = try Self.symmetricKey(key)
        keyID = id ?? Self.id(of: key)
        var older: [String: SymmetricKey] = [:]
        for (id, key) in olderKeys { older[id] = try Self.symmetricKey(key) }
        self.olderKeys = older
    }

    /// Returns the default name of a key: 16 hexadecimal digits of a keyed digest, which reveal nothing about the key.
    public static func id(of key: Data) -> String {
        let digest = HMAC<SHA256>.authenticationCode(for: Data("diamond key id".utf8), using: SymmetricKey(data: key))
        return Hex.text(of: digest.prefix(8))
    }

    public func seal(_ bytes: Data, context: Data) throws -> Data {
        let box = try AES.GCM.seal(bytes, using: key, authenticating: context)
        // Only a nonce of another length has no combined form.
        return box.combined ?? box.nonce + box.ciphertext + box.tag
    }

    public func open(_ bytes: Data, keyID: String, context: Data) throws -> Data {
        guard let key = keyID == self.keyID ? key : olderKeys[keyID] else {
            throw CacheSealError(.unknownKey, "the key '\(keyID)' is unknown: pass it as an older key")
        }
        do {
            return try AES.GCM.open(AES.GCM.SealedBox(combined: bytes), using: key, authenticating: context)
        } catch {
            throw CacheSealError(.notAuthentic, "a value sealed with the key '\(keyID)' was changed: drop it")
        }
    }

    private static func symmetricKey(_ key: Data) throws(CacheSealError) -> SymmetricKey {
        guard [16, 24, 32].contains(key.count) else {
            throw CacheSealError(.badKey, "an AES key cannot have \(key.count) bytes: pass 16, 24 or 32 random bytes")
        }
        return SymmetricKey(data: key)
    }
}

extension AESGCMSeal: Redacted {
    /// The names of the keys.
    public var description: String { "AESGCMSeal(\(names.joined(separator: ", ")))" }
    var shownMembers: KeyValuePairs<String, Any> { ["keyID": keyID, "olderKeys": olderKeys.keys.sorted()] }

    private var names: [String] { [keyID] + olderKeys.keys.sorted() }
}
