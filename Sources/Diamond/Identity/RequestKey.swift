import Crypto
public import Foundation

/// The identity of a request: the SHA-256 of its canonical form. Requests with equal keys can share a response.
public struct RequestKey: Hashable, Sendable, CustomStringConvertible {
    // The bytes in order, without a heap allocation, because every request has a key. Not a SIMD4, with which Swift 6.3
    // on Linux corrupted the memory of async tasks (the disk cache's tests crashed).
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// The 32 bytes of the digest.
    public var bytes: Data { withUnsafeBytes { Data($0) } }

    init(of canonicalForm: [UInt8]) {
        var hash = SHA256()
        canonicalForm.withUnsafeBytes { hash.update(bufferPointer: $0) }
        self = hash.finalize().withUnsafeBytes(RequestKey.init(words:))
    }

    /// Creates a key from 64 hexadecimal digits; `nil` for any other text.
    public init?(_ text: String) {
        guard let bytes = Hex.bytes(of: text) else { return nil }
        self.init(stored: Data(bytes))
    }

    package init?(stored bytes: Data) {
        guard bytes.count == 32 else { return nil }
        self = bytes.withUnsafeBytes(RequestKey.init(words:))
    }

    /// - Parameter bytes: 32 bytes.
    private init(words bytes: UnsafeRawBufferPointer) {
        first = bytes.loadUnaligned(as: UInt64.self)
        second = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        third = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        fourth = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self, body)
    }

    /// Hashes the first 64 bits, which are as good as a hash of the whole digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(first) }

    /// The first 64 bits, as stored in the cache's index.
    package var prefix: Int64 { Int64(bitPattern: UInt64(bigEndian: first)) }

    /// The key as 64 hexadecimal digits.
    public var description: String { Hex.text(of: bytes) }
}
