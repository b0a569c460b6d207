import DiamondSQLite
package import Foundation

/// Writes a body into the store as it arrives. At most a mebibyte of it is in memory, or 256 KiB if a later process may
/// continue it. ``append(_:)`` waits for the disk.
///
/// Until ``finish(as:)``, lookups find the previous entry. If the process dies, the written bytes stay as a partial
/// body, which another process finds by ``Cache/partialBody(_:request:)``. It is not `Sendable`: one task writes the
/// whole body.
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
    /// The bytes of the body so far, including those of the partial body that it continues.
    package private(set) var size: Int

    init(_ entry: CacheEntry, isReplacing: Bool, isResumable: Bool, cache: Cache) {
        self.cache = cache
        self.isReplacing = isReplacing
        self.entry = entry
        self.entry.stored.body = Data()
        chunks = BodyChunks(isResumable: isResumable, isKept: !cache.keepsParts)
        size = 0
    }

    /// - Parameter last: the last chunk of the partial body, which is written again with the bytes that follow it.
    init(
        _ entry: CacheEntry, continuing partial: PartialBody, last: Data, isReplacing: Bool, isResumable: Bool,
        cache: Cache
    ) {
        let outline = partial.outline
        self.cache = cache
        self.isReplacing = isReplacing
        self.entry = entry
        self.entry.stored.body = Data()
        chunks = BodyChunks(continuing: last, isResumable: isResumable)
        size = partial.size
        var known = self.entry
        known.request = Array(outline.request)
        row = PartialRow(
            id: outline.id, entry: known, seal: outline.keyID, isCompressed: outline.isCompressed,
            bodySize: Int64(outline.bodySize - (outline.sizes.last ?? 0)),
            checksums: BodyChecksums(outline.checksums.dropLast()), checksum: outline.checksum)
    }

    deinit {
        guard case .open = state, let row else { return }
        let cache = cache
        Task { await cache.erase(row) }
    }

    /// The number of bytes on disk.
    var writtenSize: Int { min(size, (row?.checksums.count ?? 0) * CacheTable.chunkSize) }

    /// A reader of the bytes on disk, also while more are written; `nil` if there are none.
    var writtenReader: BodyReader? {
        row.map { BodyReader(BodyOutline($0), cache: cache).reading(0..<writtenSize) }
    }

    /// Appends bytes. Returns when all but the bytes of one transaction are on disk, so that a caller is not faster
    /// than the disk.
    ///
    /// - Throws: ``CacheError``: `bodyTooLarge` beyond a quarter of the capacity without the log; `entryGone` if the
    ///   entry was evicted, erased, or replaced by another writer; or the error of the disk. Nothing more can be
    ///   appended then; the transfer itself may continue.
    package func append(_ bytes: Data) async throws(CacheError) {
        try checkOpen()
        guard !cache.storage.isTooLarge(size + bytes.count) else {
            let error = CacheError(
                .bodyTooLarge, "the body takes more than a quarter of the cache's limit: raise `diskCapacity`")
            await fail(error)
            throw error
        }
        size += bytes.count
        var rest = bytes
        while true {
            chunks.append(from: &rest)
            guard chunks.isFull else { return }
            try await write(chunks.removeFull())
        }
    }

    /// Makes the written body the entry of its key, in one transaction, replacing the previous entry. A body that fits
    /// into a mebibyte is stored like any response: immediately in memory, soon on disk.
    ///
    /// - Parameters:
    ///   - stored: status, headers and times of the response; `nil` if they are unchanged.
    ///   - knownChange: ``CacheEntry/knownChange``.
    /// - Throws: ``CacheError`` as ``append(_:)``; then nothing is stored.
    package func finish(as stored: StoredResponse? = nil, knownChange: ChangePosition? = nil) async throws(CacheError) {
        try checkOpen()
        entry.knownChange = knownChange
        if let stored { entry.stored = stored }
        entry.stored.body = Data()
        let last = chunks.removeAll()
        guard let row else { return finishInMemory(last) }
        let entry = entry
        do {
            let file = try cache.file
            var row = row
            row.entry.stored = entry.stored
            let prepared = try file.coding.prepared(last, after: row, isPartial: false)
            self.row = try await cache.change(removingFailureOf: entry.key) { (connection) throws(SQLiteError) in
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

    /// Ends without a whole entry. The received bytes are erased, or stay as a partial body if the response has a
    /// validator to continue with. After the end, it does nothing.
    ///
    /// - Parameter keeps: whether the received bytes stay for a transfer that continues them.
    /// - Throws: ``CacheError`` if the received bytes cannot be written.
    package func abandon(keepingPartial keeps: Bool) async throws(CacheError) {
        guard case .open = state else { return }
        guard keeps, cache.keepsParts, entry.stored.flags.contains(.hasValidator) else {
            state = .ended
            if let row { await cache.erase(row) }
            return
        }
        if row != nil || !chunks.isEmpty { try await write(chunks.removeAll(), isLast: true) }
        state = .ended
    }

    private func write(_ chunks: [Data], isLast: Bool = false) async throws(CacheError) {
        let row = row
        var entry = entry
        // The time distinguishes the entry from the leftovers of a dead writer. The age of the response stays.
        let now = cache.now()
        entry.stored.initialAge = entry.stored.age(at: now)
        entry.stored.storedAt = now
        do {
            self.row = try await written(chunks, behind: row, as: entry, isLast: isLast)
            if row == nil { cache.crossProcessChanges.partials.add() }
        } catch {
            await fail(error)
            throw error
        }
    }

    private func written(
        _ chunks: [Data], behind row: PartialRow?, as entry: CacheEntry, isLast: Bool
    ) async throws(CacheError) -> PartialRow {
        let file = try cache.file
        let stored = entry.stored
        guard var row else {
            let generation = file.generation
            let first = try file.coding.prepared(entry, chunks: chunks)
            return try await cache.change { (connection) throws(SQLiteError) in
                try file.throwIfReplaced(of: generation)
                return try file.begin(first, stored: stored, on: connection)
            }
        }
        row.entry.stored = stored
        let next = try file.coding.prepared(chunks, after: row, isPartial: true)
        return try await cache.change { (connection) throws(SQLiteError) in
            try file.append(next, isInUse: !isLast, on: connection)
        }
    }

    private func checkOpen() throws(CacheError) {
        switch state {
        case .open: return
        case .failed(let error): throw error
        case .ended: throw CacheError(.other, "the body has ended: create another writer")
        }
    }

    // A body with a gap is useless.
    private func fail(_ error: CacheError) async {
        state = .failed(error)
        if let row { await cache.erase(row) }
    }
}
