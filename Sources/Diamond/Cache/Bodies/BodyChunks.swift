import Foundation

/// Cuts what comes in pieces into chunks of one size, and holds no more than one transaction's worth of them.
struct BodyChunks: Sendable {
    /// Chunks of one transaction: 1 MiB. More write no faster, and cost memory and the patience of other writers.
    static let groupCount = 8

    private var full: [Data] = []
    /// Shorter than a chunk.
    private var rest = Data()

    /// - Parameter bytes: what is written already and goes on: at most one chunk.
    init(goingOn bytes: Data = Data()) {
        var bytes = bytes
        take(from: &bytes)
    }

    /// Nothing more is taken before something is written.
    var isFull: Bool { full.count >= Self.groupCount }

    var isEmpty: Bool { full.isEmpty && rest.isEmpty }

    /// Takes as much of the beginning of a piece as there is room for.
    mutating func take(from piece: inout Data) {
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

    /// The whole chunks, to be written; what is shorter stays.
    mutating func takeFull() -> [Data] {
        defer { full = [] }
        return full
    }

    /// All, where no more will come.
    mutating func takeAll() -> [Data] {
        defer { rest = Data() }
        return takeFull() + (rest.isEmpty ? [] : [rest])
    }
}
