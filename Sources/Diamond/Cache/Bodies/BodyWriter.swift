import DiamondSQLite
package import Foundation

/// Writes a body into the store as it comes. At most a mebibyte of it is in memory, and ``append(_:)`` waits for the
/// disk.
///
/// Until ``finish(as:)`` the entry that was there answers. The death of the process leaves what was written as a partial
/// body, which another process finds by ``Cache/partialBody(_:request:)``. Not `Sendable`: one task writes, to the end.
package final class BodyWriter {
    private enum State {
        case open
        case failed(CacheError)
        case ended
    }

    private let cache: Cache
    private let isReplacing: Bool
    private var entry: CacheEntry
    private var chunks: BodyChunks
    /// `nil` until something is written.
    private var row: PartialRow?
    private var state = State.open
    /// Bytes of the body so far, with those of what it continues.
    package private(set) var size: Int

    init(_ entry: CacheEntry, isReplacing: Bool, cache: Cache) {
        self.cache = cache
        self.isReplacing = isReplacing
        self.entry = entry
        self.entry.stored.body = Data()
        chunks = BodyChunks()
        size = 0
    }

    /// - Parameter last: the last chunk, which is written again with what comes behind it.
    init(_ entry: CacheEntry, continuing partial: PartialBody, last: Data, isReplacing: Bool, cache: Cache) {
        let outline = partial.outline
        self.cache = cache
        self.isReplacing = isReplacing
        self.entry = entry
        self.entry.stored.body = Data()
        chunks = BodyChunks(goingOn: last)
        size = partial.size
        var known = self.entry
        known.request = Array(outline.request)
        row = PartialRow(
            id: outline.id, entry: known, seal: outline.seal, isCompressed: outline.isCompressed,
            bodySize: Int64(outline.bodySize - (outline.sizes.last ?? 0)),
            digest: BodyDigest(outline.checksums.dropLast()), checksum: outline.checksum)
    }

    deinit {
        guard case .open = state, let row else { return }
        let cache = cache
        Task { await cache.erase(row) }
    }

    /// Adds a piece of any size. Returns when all but a mebibyte is on disk: a caller that waits for it goes as fast as
    /// the disk does.
    ///
    /// - Throws: ``CacheError``: `bodyTooLarge` beyond a quarter of the store's bound; `entryGone` where the entry was
    ///   evicted, erased, or begun again by another writer; or the error of the disk. Nothing more can be appended
    ///   then; the transfer itself may go on.
    package func append(_ bytes: Data) async throws(CacheError) {
        try checkOpen()
        guard !cache.eviction.isTooLarge(size + bytes.count) else {
            let error = CacheError(.bodyTooLarge, "a body takes more than a quarter of the store's bound: raise it")
            await fail(error)
            throw error
        }
        size += bytes.count
        var rest = bytes
        while true {
            chunks.take(from: &rest)
            guard chunks.isFull else { return }
            try await write(chunks.takeFull())
        }
    }

    /// Makes it the entry of its key, in one transaction, in the place of the one that was there. What fits into a
    /// mebibyte is stored as any answer is: at once in memory, soon on disk.
    ///
    /// - Parameter stored: status, headers and times to store it with; those it began with when nothing is said.
    /// - Throws: ``CacheError`` as ``append(_:)``; then nothing is kept.
    package func finish(as stored: StoredResponse? = nil) async throws(CacheError) {
        try checkOpen()
        if let stored { entry.stored = stored }
        entry.stored.body = Data()
        let last = chunks.takeAll()
        guard let row else { return finishInMemory(last) }
        let (file, entry) = (cache.file, entry)
        do {
            var row = row
            row.entry.stored = entry.stored
            let prepared = try file.prepared(last, behind: row, isPartial: false)
            try await cache.change(settling: entry.key) { (connection) throws(SQLiteError) in
                try file.finish(prepared, as: entry, on: connection)
            }
        } catch {
            await fail(error)
            throw error
        }
        state = .ended
        cache.didFinish(entry, size: size, isReplacing: isReplacing)
    }

    private func finishInMemory(_ chunks: [Data]) {
        state = .ended
        entry.stored.body = Data(chunks.joined())
        cache.store(entry, replacing: isReplacing)
    }

    /// Ends without an entry: what has arrived is erased, or kept for a transfer that goes on with it, where it has a
    /// validator to ask with. Does nothing once it has ended.
    ///
    /// - Throws: ``CacheError`` where what has arrived cannot be kept.
    package func abandon(keepingPartial keeps: Bool) async throws(CacheError) {
        guard case .open = state else { return }
        guard keeps, entry.stored.flags.contains(.hasValidator) else {
            state = .ended
            if let row { await cache.erase(row) }
            return
        }
        if row != nil || !chunks.isEmpty { try await write(chunks.takeAll(), isLast: true) }
        state = .ended
    }

    private func write(_ chunks: [Data], isLast: Bool = false) async throws(CacheError) {
        let row = row
        var entry = entry
        // So that it can be told from what a dead writer has left.
        entry.stored.storedAt = cache.now()
        do {
            self.row = try await written(chunks, behind: row, as: entry, isLast: isLast)
            if row == nil { cache.neighbors.partials.add() }
        } catch {
            await fail(error)
            throw error
        }
    }

    private func written(
        _ chunks: [Data], behind row: PartialRow?, as entry: CacheEntry, isLast: Bool
    ) async throws(CacheError) -> PartialRow {
        let (file, stored) = (cache.file, entry.stored)
        guard var row else {
            let generation = file.generation
            let first = try file.prepared(entry, chunks: chunks)
            return try await cache.change { (connection) throws(SQLiteError) in
                try file.refuseSealed(of: generation)
                return try file.begin(first, stored, on: connection)
            }
        }
        row.entry.stored = stored
        let next = try file.prepared(chunks, behind: row, isPartial: true)
        return try await cache.change { (connection) throws(SQLiteError) in
            try file.append(next, isInUse: !isLast, on: connection)
        }
    }

    private func checkOpen() throws(CacheError) {
        switch state {
        case .open: return
        case .failed(let error): throw error
        case .ended: throw CacheError(.other, "the body has ended: begin another one")
        }
    }

    // A body with a hole is of no use to anybody.
    private func fail(_ error: CacheError) async {
        state = .failed(error)
        if let row { await cache.erase(row) }
    }
}
