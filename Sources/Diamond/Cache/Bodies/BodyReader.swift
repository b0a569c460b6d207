package import Foundation

/// Reads a stored body a chunk at a time: at most 128 KiB of it are in memory.
///
/// Each chunk is held against the checksum that it had when the body was looked up. One task at a time reads; a copy goes
/// on from where the copied one is.
package struct BodyReader: Sendable {
    private enum Source: Sendable {
        case memory([Data])
        case disk(BodyOutline, Cache)
    }

    /// The answer without its body.
    package let stored: StoredResponse
    private let source: Source
    private var number = 0

    init(_ stored: StoredResponse) {
        self.stored = stored.withoutBody
        source = .memory(CacheTable.chunks(of: stored.body))
    }

    init(_ outline: BodyOutline, cache: Cache) {
        stored = outline.stored
        source = .disk(outline, cache)
    }

    /// The next 128 KiB, or what is left; `nil` at the end. Reads in the calling thread: some hundred microseconds.
    ///
    /// - Throws: `entryGone` where the entry was replaced or went meanwhile; `corrupt` where it is damaged;
    ///   `cannotSeal` where its seal cannot open it now.
    package mutating func next() throws(CacheError) -> Data? {
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
