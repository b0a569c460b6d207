import Crypto
public import Foundation

/// The identity of a request: SHA-256 of its canonical form. Two requests with one key ask for the same thing.
public struct RequestKey: Hashable, Sendable, CustomStringConvertible {
    // The bytes in their order, without memory of their own: every request has a key. Four words and no SIMD4: with one,
    // Swift 6.3 on Linux left the memory of async tasks corrupted, which the tests of the cache on disk end with.
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// 32 bytes.
    public var bytes: Data { withUnsafeBytes { Data($0) } }

    init(of canonicalForm: [UInt8]) {
        var hash = SHA256()
        canonicalForm.withUnsafeBytes { hash.update(bufferPointer: $0) }
        self = hash.finalize().withUnsafeBytes(RequestKey.init(words:))
    }

    /// The key that `text` writes in 64 hexadecimal digits, or `nil` when it is not that.
    public init?(_ text: String) {
        guard let bytes = Hex.bytes(of: text) else { return nil }
        self.init(stored: Data(bytes))
    }

    package init?(stored bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self = bytes.withUnsafeBytes(RequestKey.init(words:))
    }

    /// - Parameter bytes: 32 of them.
    private init(words bytes: UnsafeRawBufferPointer) {
        first = bytes.loadUnaligned(as: UInt64.self)
        second = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        third = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        fourth = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self, body)
    }

    /// The first bits of a digest are as good as any hash of all of them.
    public func hash(into hasher: inout Hasher) { hasher.combine(first) }

    /// The first 64 bits, as the cache's index holds them.
    package var prefix: Int64 { Int64(bitPattern: UInt64(bigEndian: first)) }

    /// 64 hexadecimal digits.
    public var description: String { Hex.text(of: bytes) }
}
