import Crypto
import Foundation

/// The digest of a body, as `body_digest` holds it, over chunks that come one by one.
struct BodyDigest: Sendable {
    private(set) var count = 0
    private var first = Data(Checksum.digest(of: Data()))
    private var hash = SHA256()

    /// - Parameter checksums: of the chunks so far.
    init(_ checksums: some Sequence<Data>) { for checksum in checksums { add(checksum) } }

    init(_ checksums: [Checksum.Digest] = []) { for checksum in checksums { add(Data(checksum)) } }

    mutating func add(_ checksum: Data) {
        if count == 0 { first = checksum }
        hash.update(data: checksum)
        count += 1
    }

    /// One chunk alone stands for itself, and so does nothing.
    var value: Data { count > 1 ? Data(hash.finalize()) : first }
}
