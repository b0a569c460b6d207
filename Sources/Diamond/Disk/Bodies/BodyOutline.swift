import Foundation

/// All of an entry but the bytes of its body: with the checksums of its chunks each of them can be held against what it
/// was when the entry was looked up. What is in its place by then, under the same number, is never taken for it.
struct BodyOutline: Sendable {
    let id: Int64
    let key: RequestKey
    let isPartial: Bool
    /// As the table holds it.
    let request: Data
    /// Without the body; headers opened, flags as a lookup gives them.
    var stored: StoredResponse
    let seal: String?
    let isCompressed: Bool
    /// Of the chunks, as they are written.
    let checksums: [Data]
    /// Bytes of the chunks, as they are written.
    let sizes: [Int]
    let digest: Data
    let checksum: Int64
    let isVisited: Bool

    var bodySize: Int { sizes.reduce(0, +) }
}
