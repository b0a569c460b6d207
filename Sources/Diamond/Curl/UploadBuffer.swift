import Foundation

/// Pieces of a request's body between the stream that makes them and the wire that takes them.
struct UploadBuffer {
    private var pieces: [Data] = []
    /// Bytes of the first piece that are gone already.
    private var offset = 0
    /// Bytes waiting.
    private(set) var count = 0

    /// Smaller pieces are joined up to this size, so that there are never many.
    private static let joinedSize = 64 << 10

    mutating func append(_ piece: Data) {
        guard !piece.isEmpty else { return }
        count += piece.count
        if let last = pieces.last, last.count + piece.count <= Self.joinedSize {
            pieces[pieces.count - 1].append(piece)
        } else {
            pieces.append(piece)
        }
    }

    /// Moves as many bytes as fit, and lets go of the pieces that are used up.
    mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        var total = 0
        while total < target.count, let piece = pieces.first {
            let rest = UnsafeMutableRawBufferPointer(rebasing: target[total...])
            let moved = piece.dropFirst(offset).copyBytes(to: rest)
            total += moved
            offset += moved
            if offset == piece.count { removeFirst() }
        }
        count -= total
        return total
    }

    private mutating func removeFirst() {
        pieces.removeFirst()
        offset = 0
    }
}
