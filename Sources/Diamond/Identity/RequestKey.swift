import Crypto
public import Foundation

/// The identity of a request: SHA-256 of its canonical form. Two requests with one key ask for the same thing.
public struct RequestKey: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: Data

    init(of canonicalForm: [UInt8]) { bytes = Data(SHA256.hash(data: canonicalForm)) }

    /// The key that `text` writes in 64 hexadecimal digits, or `nil` when it is not that.
    public init?(_ text: String) {
        guard let bytes = Hex.bytes(of: text), bytes.count == 32 else { return nil }
        self.bytes = Data(bytes)
    }

    package init?(stored bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// The first 64 bits, as the cache's index holds them.
    package var prefix: Int64 {
        bytes.withUnsafeBytes { Int64(bitPattern: UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self))) }
    }

    /// 64 hexadecimal digits.
    public var description: String { Hex.text(of: bytes) }
}
