import Crypto
import Foundation

/// A record of ``SentLog``: a job was sent with a claim, or the exchanges sent with the claim were certainly not
/// processed.
struct SentRecord: Hashable {
    /// The size of a record in bytes.
    static let size = 32

    let id: Int64
    let token: Int64
    /// The digest of the request. It matters because a queue that has lost jobs gives their ids to other jobs.
    let digest: Int64
    /// Whether the exchanges that were sent were certainly not processed.
    var isRevoked = false

    init(_ row: ReplayRow) {
        id = row.id
        token = row.token
        digest = row.digest
    }

    /// Creates a record from its bytes; `nil` if they are damaged, or belong to another job than `other`.
    init?(_ bytes: UnsafeRawBufferPointer, of other: SentRecord) {
        func number(_ index: Int) -> Int64 {
            Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: Int64.self))
        }
        guard number(0) == other.id, number(2) == other.digest else { return nil }
        id = other.id
        digest = other.digest
        isRevoked = number(1) < 0
        token = isRevoked ? ~number(1) : number(1)
        guard self.bytes.elementsEqual(bytes) else { return nil }
    }

    /// The written form: three numbers and a checksum. The token of a revoked record is inverted.
    var bytes: Data {
        var bytes = Data()
        for number in [id, isRevoked ? ~token : token, digest] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes + SHA256.hash(data: bytes).prefix(8)
    }
}
