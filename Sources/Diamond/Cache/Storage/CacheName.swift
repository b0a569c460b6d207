import Crypto
package import Foundation

/// One of ``CacheRecord/names`` as a storage on a server keeps it: a hash. Different names with one hash are invalidated
/// together.
package struct CacheName: Hashable, Sendable {
    /// XXH3 of the name; 0 for the name of all records.
    package let hash: UInt64
    package let isURL: Bool
    /// Whether so many records have the name that a change of it changes everything in memory.
    package let isCommon: Bool

    /// The name of all records.
    package static let all = CacheName(hash: 0, isURL: false, isCommon: true)

    private init(hash: UInt64, isURL: Bool, isCommon: Bool) {
        self.hash = hash
        self.isURL = isURL
        self.isCommon = isCommon
    }

    package init(_ name: String) {
        var name = name
        self.init(
            hash: name.withUTF8 { XXH3.hash(UnsafeRawBufferPointer($0)) }, isURL: name.utf8.starts(with: "u ".utf8),
            isCommon: name.utf8.starts(with: "h ".utf8))
    }
}

/// The secrets of stores on servers.
package enum CacheSecret {
    /// Returns a secret that is the same in every process with a password, and stays when the server has lost everything.
    /// A secret on the server could be lost, and reading it would wait for the server.
    ///
    /// - Parameter place: the name of the store among those with the same password.
    package static func derived(from password: String?, for place: String) -> Data {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data((password ?? "").utf8)), info: Data(place.utf8),
            outputByteCount: 32)
        return key.withUnsafeBytes { Data($0) }
    }
}
