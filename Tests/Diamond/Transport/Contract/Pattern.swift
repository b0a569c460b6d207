import Foundation

/// The bytes of `/wire/bytes`: the one at `index` is `index * 31`, modulo 256.
enum Pattern {
    static let pieceSize = 64 << 10
    /// Longer than a piece by one period, so that a piece may begin at any offset of the pattern.
    private static let block = Data((0..<pieceSize + 256).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    static func bytes(from index: Int = 0, count: Int) -> Data {
        var bytes = Data(capacity: count)
        while bytes.count < count {
            let start = (index + bytes.count) % 256
            bytes += block[start..<start + min(pieceSize, count - bytes.count)]
        }
        return bytes
    }

    /// Returns the checksum (FNV-1a, 64 bits) that `/wire/upload` computes.
    static func checksum(count: Int) -> String {
        var value: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in 0..<count {
            value = (value ^ UInt64(UInt8(truncatingIfNeeded: index &* 31))) &* 0x100_0000_01b3
        }
        return String(repeating: "0", count: 16 - String(value, radix: 16).count) + String(value, radix: 16)
    }
}

/// The pattern in pieces, each created when it is asked for.
struct PatternStream: AsyncSequence, Sendable {
    let count: Int
    /// Called with every piece.
    var onPiece: @Sendable () -> Void = {}

    struct Iterator: AsyncIteratorProtocol {
        let stream: PatternStream
        var index = 0

        mutating func next() async throws -> Data? {
            guard index < stream.count else { return nil }
            stream.onPiece()
            defer { index += Pattern.pieceSize }
            return Pattern.bytes(from: index, count: Swift.min(Pattern.pieceSize, stream.count - index))
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(stream: self) }
}
