import Foundation

/// Divides received bytes into chunks of one size. It holds at most the chunks of one transaction.
struct BodyChunks: Sendable {
    /// The chunks of one transaction: 1 MiB. Larger transactions are no faster, take memory, and delay other writers.
    static let groupCount = 8
    /// The chunks of one transaction of a transfer that a later process may continue. A killed process loses less than
    /// these 256 KiB.
    static let resumableGroupCount = 2

    private let groupCount: Int
    private var full: [Data] = []
    /// The last bytes, shorter than a chunk.
    private var rest = Data()

    /// - Parameters:
    ///   - bytes: the last chunk of a partial body to continue.
    ///   - isResumable: whether a later process may continue the body.
    ///   - isKept: whether all chunks are kept, because a server stores a body only as a whole.
    init(continuing bytes: Data = Data(), isResumable: Bool = false, isKept: Bool = false) {
        groupCount = isKept ? .max : isResumable ? Self.resumableGroupCount : Self.groupCount
        var bytes = bytes
        append(from: &bytes)
    }

    /// Whether no more bytes are accepted before chunks are written.
    var isFull: Bool { full.count >= groupCount }

    var isEmpty: Bool { full.isEmpty && rest.isEmpty }

    /// Moves as many bytes from the beginning of a piece as there is room for.
    mutating func append(from piece: inout Data) {
        while !piece.isEmpty, !isFull {
            let part = piece.prefix(CacheTable.chunkSize - rest.count)
            if rest.isEmpty { rest.reserveCapacity(CacheTable.chunkSize) }
            rest.append(part)
            piece = piece.dropFirst(part.count)
            guard rest.count == CacheTable.chunkSize else { continue }
            full.append(rest)
            rest = Data()
        }
    }

    /// Removes and returns the full chunks. A shorter rest stays.
    mutating func removeFull() -> [Data] {
        defer { full = [] }
        return full
    }

    /// Removes and returns all bytes, when no more will come.
    mutating func removeAll() -> [Data] {
        defer { rest = Data() }
        return removeFull() + (rest.isEmpty ? [] : [rest])
    }
}
