package import Foundation

/// Reads a stored body in pieces: at most 128 KiB of it are in memory.
///
/// Each chunk from disk is verified with the checksum that it had when the body was looked up. One task at a time
/// reads. A copy continues at the position of the original.
package struct BodyReader: Sendable {
    private enum Source: Sendable {
        case memory([Data])
        case disk(BodyOutline, Cache)
    }

    /// The response without its body.
    package let stored: StoredResponse
    private let source: Source
    private var number = 0
    /// The bytes of the next chunk that come before the part, or were read.
    private var skipped = 0
    /// The bytes of the part that are left; `nil` if the whole body is read.
    private var left: Int?

    init(_ stored: StoredResponse) {
        self.stored = stored.withoutBody
        source = .memory(CacheTable.chunks(of: stored.body))
    }

    init(_ outline: BodyOutline, cache: Cache) {
        stored = outline.stored
        source = .disk(outline, cache)
    }

    /// Whether the body is read from the disk.
    var isOnDisk: Bool { if case .disk = source { true } else { false } }

    /// Returns a reader of a part of the body. Chunks that have none of its bytes are not read.
    package func reading(_ part: Range<Int>) -> BodyReader {
        var reader = self
        reader.number = part.lowerBound / CacheTable.chunkSize
        reader.skipped = part.lowerBound % CacheTable.chunkSize
        reader.left = part.count
        return reader
    }

    /// The bytes left of the part; the size of the body if no part is read.
    package var count: Int { left ?? stored.bodySize }

    /// Returns the next 128 KiB, or the rest if it is shorter; `nil` at the end. Reading from disk takes the calling
    /// thread some hundred microseconds.
    ///
    /// - Throws: `entryGone` if the entry was replaced or removed in the meantime; `corrupt` if it is damaged;
    ///   `cannotSeal` if its seal cannot open it now.
    package mutating func next() throws(CacheError) -> Data? {
        guard left ?? 1 > 0, let chunk = try nextChunk() else { return nil }
        guard skipped > 0 || left != nil else { return chunk }
        let piece = chunk.dropFirst(skipped).prefix(left ?? .max)
        skipped = 0
        left = left.map { $0 - piece.count }
        return piece
    }

    /// Passes on the next bytes, up to a chunk: those of a body in clear without a copy. They are valid in `use`.
    ///
    /// The bytes of a chunk that are left are read again with the next piece.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of bytes, greater than 0.
    ///   - use: not called at the end of the body.
    /// - Returns: the number of bytes; 0 at the end.
    /// - Throws: as ``next()``.
    package mutating func read(
        upTo limit: Int, _ use: (UnsafeRawBufferPointer) -> Void
    ) throws(CacheError) -> Int {
        let limit = min(limit, left ?? limit)
        guard limit > 0 else { return 0 }
        let skipped = skipped
        var sizes: (chunk: Int, piece: Int)?
        try withNextChunk { chunk in
            let piece = chunk.dropFirst(skipped).prefix(limit)
            use(UnsafeRawBufferPointer(rebasing: piece))
            sizes = (chunk.count, piece.count)
        }
        guard let sizes else { return 0 }
        let isWhole = skipped + sizes.piece == sizes.chunk
        if isWhole { number += 1 }
        self.skipped = isWhole ? 0 : skipped + sizes.piece
        left = left.map { $0 - sizes.piece }
        return sizes.piece
    }

    private func withNextChunk(_ use: (UnsafeRawBufferPointer) -> Void) throws(CacheError) {
        switch source {
        case .memory(let chunks): if number < chunks.count { chunks[number].withUnsafeBytes(use) }
        case .disk(let outline, let cache):
            guard number < outline.checksums.count else { return }
            guard outline.isPlain else {
                guard let chunk = try cache.chunk(number, of: outline) else { throw .entryGone }
                return chunk.withUnsafeBytes(use)
            }
            guard try cache.withPlainChunk(number, of: outline, use) else { throw .entryGone }
        }
    }

    /// Returns all bytes that are left.
    ///
    /// - Throws: ``CacheError`` as ``next()``.
    func rest() throws(CacheError) -> Data {
        var reader = self
        var rest = Data(capacity: count)
        while let chunk = try reader.next() { rest.append(chunk) }
        return rest
    }

    private mutating func nextChunk() throws(CacheError) -> Data? {
        defer { number += 1 }
        switch source {
        case .memory(let chunks): return number < chunks.count ? chunks[number] : nil
        case .disk(let outline, let cache):
            guard number < outline.checksums.count else { return nil }
            guard let chunk = try cache.chunk(number, of: outline) else { throw .entryGone }
            return chunk
        }
    }
}
