#if Valkey
import NIOCore

/// The times of the last erasure and the last invalidation of a name, in microseconds of the server's clock.
///
/// A record has the stamps of its names as they were when it was stored. It is gone if the server has another erasure
/// for one of them, or no stamp, and stale if it has another invalidation. So an invalidation of any number of records
/// writes one small value.
///
/// The stamp of a new name has odd numbers. Invalidations and erasures write even ones.
struct ValkeyStamp: Hashable, Sendable {
    var erasure: Int64
    var invalidation: Int64

    /// The number of digits of each number.
    static let digits = 16

    /// A stamp for a name that has none.
    init(newAt time: Int64) {
        erasure = time | 1
        invalidation = time | 1
    }

    init(erasure: Int64, invalidation: Int64) {
        self.erasure = erasure
        self.invalidation = invalidation
    }

    /// Reads a stamp as the server has it: two numbers of 16 digits. `nil` for other bytes.
    init?(_ bytes: ByteBuffer) {
        let text = String(buffer: bytes).utf8
        guard text.count == 2 * Self.digits, let erasure = Int64(String(text.prefix(Self.digits)) ?? ""),
            let invalidation = Int64(String(text.suffix(Self.digits)) ?? "")
        else { return nil }
        self.init(erasure: erasure, invalidation: invalidation)
    }

    var bytes: ByteBuffer {
        ByteBuffer(string: String(erasure).padded(to: Self.digits) + String(invalidation).padded(to: Self.digits))
    }

    /// The times of its changes; none of a new name.
    var changes: [Int64] { [erasure, invalidation].filter { $0 & 1 == 0 } }
}
#endif
