import Foundation

/// An entry as the tables hold it: in clear, or sealed.
struct CacheRow: Sendable {
    /// The entry, with texts and bytes in the form that is written. Its body is in ``body``.
    var entry: CacheEntry
    /// The name of the key that sealed it; `nil` in clear.
    let seal: String?
    let body: BodyRows

    init(_ entry: CacheEntry, seal: String?, chunks: [Data]) {
        self.entry = entry
        self.seal = seal
        body = BodyRows(chunks: chunks)
    }

    var checksum: Int64 { entry.checksum(bodySize: body.size, digest: body.checksums.column) }
}

extension CacheEntry {
    /// Returns the checksum of its row.
    ///
    /// - Parameters:
    ///   - bodySize: the bytes of the body, as it is written.
    ///   - digest: the digest of the body, as it is written.
    func checksum(bodySize: Int64, digest: some ContiguousBytes) -> Int64 {
        Checksum.row(key: key, request: request, stored: stored, bodySize: bodySize, digest: digest)
    }
}
