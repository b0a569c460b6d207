import Crypto
import Foundation

/// A record of ``SentLog``: that a job has left with a claim, or that this was taken back.
struct SentRecord: Hashable {
    /// The size of its bytes.
    static let size = 32

    let id: Int64
    let token: Int64
    /// The digest of the request: a queue that has lost jobs gives their ids to others.
    let digest: Int64
    /// Whether the exchanges that left were certainly not processed.
    var isTakenBack = false

    init(_ row: ReplayRow) { (id, token, digest) = (row.id, row.token, row.digest) }

    /// - Returns: `nil` where the bytes are not those of a record, or it is of another job than `other`.
    init?(_ bytes: UnsafeRawBufferPointer, of other: SentRecord) {
        func number(_ index: Int) -> Int64 {
            Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: Int64.self))
        }
        guard number(0) == other.id, number(2) == other.digest else { return nil }
        (id, digest) = (other.id, other.digest)
        isTakenBack = number(1) < 0
        token = isTakenBack ? ~number(1) : number(1)
        guard self.bytes.elementsEqual(bytes) else { return nil }
    }

    /// Three numbers, the token inverted where it was taken back, and a checksum behind them.
    var bytes: Data {
        var bytes = Data()
        for number in [id, isTakenBack ? ~token : token, digest] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes + SHA256.hash(data: bytes).prefix(8)
    }
}
