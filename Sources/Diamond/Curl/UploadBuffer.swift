import Foundation

/// A buffer for the pieces of a request's body between its stream and the connection.
struct UploadBuffer {
    private var pieces: [Data] = []
    /// The number of bytes of the first piece that are read already.
    private var offset = 0
    /// The number of buffered bytes.
    private(set) var count = 0

    /// The size up to which small pieces are joined, so that there are never many.
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

    /// Moves as many bytes as fit into a target, and returns their number.
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
