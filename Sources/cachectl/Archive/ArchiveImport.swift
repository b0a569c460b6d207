#if Tools
import Diamond
import Foundation

/// Stores the responses of an archive in a cache.
struct ArchiveImport {
    /// The bytes and entries that may wait to be written. More than a cache's backlog would be lost.
    private static let waitingBytes = 8 << 20
    private static let waitingEntries = 256

    let reader: ArchiveReader
    let header: ArchiveHeader
    let cache: Cache
    private(set) var stored = 0
    private(set) var leftOut = 0
    private var waiting = (entries: 0, bytes: 0)

    init(_ reader: ArchiveReader, _ header: ArchiveHeader, into cache: Cache) {
        self.reader = reader
        self.header = header
        self.cache = cache
    }

    mutating func run() async throws {
        while let line = try reader.next() {
            guard let entry = try? JSONDecoder().decode(ArchivedEntry.self, from: line), entry.isValid else {
                throw reader.invalid(line)
            }
            if try await store(entry, line) { stored += 1 } else { leftOut += 1 }
            Progress.update(stored + leftOut)
            try await flushIfNeeded(line.count + entry.bodySize)
        }
    }

    /// - Returns: Whether it was stored.
    private func store(_ entry: ArchivedEntry, _ line: Data) async throws -> Bool {
        let place = try cache.place(for: entry, of: header.secret)
        var writer = try place.flatMap { place throws(CacheError) in try cache.bodyWriter(at: place) }
        do {
            try await reader.readBody(entry.bodySize, of: line) { piece in
                if try await writer?.appendIfItFits(piece) == false { writer = nil }
            }
        } catch {
            try? await writer?.abandon(keepingPartial: false)
            throw error
        }
        guard let place else { return false }
        guard let writer else {
            cache.repairIndex(at: place)
            return false
        }
        return try await cache.finish(writer, at: place)
    }

    private mutating func flushIfNeeded(_ bytes: Int) async throws {
        waiting = (waiting.entries + 1, waiting.bytes + bytes)
        guard waiting.entries >= Self.waitingEntries || waiting.bytes >= Self.waitingBytes else { return }
        await cache.flush()
        waiting = (0, 0)
    }
}

extension BodyWriter {
    /// Appends bytes.
    ///
    /// - Returns: `false` if the body is too large for the cache, or was replaced. Nothing can be appended then.
    fileprivate func appendIfItFits(_ piece: Data) async throws(CacheError) -> Bool {
        do throws(CacheError) {
            try await append(piece)
            return true
        } catch  where [.bodyTooLarge, .entryGone].contains(error.code) {
            return false
        }
    }
}
#endif
