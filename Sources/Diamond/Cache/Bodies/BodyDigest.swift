import Crypto
import Foundation

/// The digest of a body for the column `body_digest`, computed chunk by chunk.
struct BodyDigest: Sendable {
    /// The checksums of the chunks so far.
    private(set) var checksums: [Data] = []
    private var hash = SHA256()

    /// - Parameter checksums: the checksums of the chunks so far.
    init(_ checksums: some Sequence<Data>) { for checksum in checksums { add(checksum) } }

    init(_ checksums: [Checksum.Digest] = []) { for checksum in checksums { add(Data(checksum)) } }

    mutating func add(_ checksum: Data) {
        hash.update(data: checksum)
        checksums.append(checksum)
    }

    /// The checksum of the only chunk, or of no bytes for an empty body; of several chunks, the SHA-256 of their
    /// checksums.
    var value: Data {
        checksums.count > 1 ? Data(hash.finalize()) : checksums.first ?? Data(Checksum.digest(of: Data()))
    }

    var count: Int { checksums.count }
}
