#if Tools
import Hummingbird
import NIOCore

/// Bytes that anyone can predict: the one at `index` is `index * 31 + seed`, modulo 256.
struct Pattern: Sendable {
    static let chunkSize = 64 << 10
    /// 31 is odd, so the pattern repeats after 256 bytes and not before.
    private static let period = 256

    private let block: ByteBuffer

    init(seed: Int) {
        let once = (0..<Self.period).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ seed) }
        var block = ByteBuffer()
        for _ in 0...(Self.chunkSize / Self.period) { block.writeBytes(once) }
        self.block = block
    }

    /// At most `chunkSize` bytes from an index on, without a copy.
    func slice(at index: Int, count: Int) -> ByteBuffer {
        block.getSlice(at: index % Self.period, length: min(count, Self.chunkSize)) ?? ByteBuffer()
    }

    /// The bytes of a range in chunks; the next is made when the client has taken the one before.
    ///
    /// Concurrent as the writer's own functions are, or the writer could not be handed to them.
    @concurrent func write(_ range: Range<Int>, to writer: inout any ResponseBodyWriter) async throws {
        var index = range.lowerBound
        while index < range.upperBound {
            let chunk = slice(at: index, count: range.upperBound - index)
            try await writer.write(chunk)
            index += chunk.readableBytes
        }
    }
}
#endif
