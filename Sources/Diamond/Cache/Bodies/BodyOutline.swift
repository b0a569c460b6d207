import Foundation

/// An entry without the bytes of its body. The checksums verify that all chunks belong to one body: a chunk of another
/// body, written later under the same number, is not accepted.
struct BodyOutline: Sendable {
    let id: Int64
    let key: RequestKey
    let isPartial: Bool
    /// The request as the table holds it.
    let request: Data
    /// The response without the body, with headers opened, and flags as a lookup returns them.
    var stored: StoredResponse
    /// The name of the key that seals the body; `nil` for a body in clear.
    let keyID: String?
    let isCompressed: Bool
    /// The checksums of the chunks, as they are written: XXH3, or SHA-256 of an old entry.
    var checksums: [Data]
    /// The bytes of the chunks, as they are written.
    let sizes: [Int]
    /// The value of the column `body_digest`.
    let digest: Data
    let checksum: Int64
    let isVisited: Bool

    var bodySize: Int { sizes.reduce(0, +) }

    /// Whether the chunks are the bytes of the body: neither sealed nor compressed.
    var isPlain: Bool { keyID == nil && !isCompressed }
}

extension BodyOutline {
    /// Creates the outline of a row that is being written. The sizes of its chunks are unknown.
    init(_ row: PartialRow) {
        id = row.id
        key = row.entry.key
        isPartial = true
        request = Data(row.entry.request)
        stored = row.entry.stored
        keyID = row.seal
        isCompressed = row.isCompressed
        checksums = BodyChecksums.each(in: row.checksums.column) ?? []
        sizes = []
        digest = row.checksums.column
        checksum = row.checksum
        isVisited = true
    }
}
