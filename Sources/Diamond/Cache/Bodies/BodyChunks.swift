import Foundation

/// Divides received bytes into chunks of one size. It holds at most the chunks of one transaction.
struct BodyChunks: Sendable {
    /// The chunks of one transaction: 1 MiB. Larger transactions are no faster, take memory, and delay other writers.
    static let groupCount = 8

    private var full: [Data] = []
    /// The last bytes, shorter than a chunk.
    private var rest = Data()

    /// - Parameter bytes: the last chunk of a partial body to continue.
    init(continuing bytes: Data = Data()) {
        var bytes = bytes
        append(from: &bytes)
    }

    /// Whether no more bytes are accepted before chunks are written.
    var isFull: Bool { full.count >= Self.groupCount }

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
