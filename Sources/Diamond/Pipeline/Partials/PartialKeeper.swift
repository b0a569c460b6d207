import Foundation
import HTTPTypes

/// Keeps what one exchange has received: in the store, where the answer may be stored, else with the connection that waits
/// for it.
///
/// From a mebibyte on it is written as it comes, so that the death of the process loses little of it; the end of the body
/// then makes it the entry. What cannot be written is kept in memory, and no failure of the store is one of the request.
actor PartialKeeper: PartialKeeping {
    /// Bytes from which on a body is written as it comes: less would not be written before its end.
    static let streamedSize = BodyChunks.groupCount * CacheTable.chunkSize

    private let place: PartialPlace
    private let hold: PartialHold
    /// What the store had when the exchange began.
    private var partial: PartialBody?
    private var writer: BodyWriter?
    /// Whether what is received now is what the store is to keep.
    private var isStorable = false
    /// Whether the store could not write, or somebody has erased what was written: it gets nothing more.
    private var isRefused = false

    init(_ place: PartialPlace) {
        self.place = place
        hold = place.hold()
    }

    /// Whether there is something to be finished, or discarded.
    nonisolated var hasBegun: Bool { hold.hasBegun }

    nonisolated func leave() { hold.leave() }

    /// Nothing is received any more: another exchange may be at it.
    nonisolated func end() { hold.end() }

    // MARK: What is there

    nonisolated func left(for request: TransportRequest) async -> Boxed<IncompleteArrival> {
        // Most find nothing, and need not come here for it.
        guard await hold.settle(), place.mayHaveKept else { return .none }
        return await found(for: request)
    }

    // Not inlined: what few need would lie in the frames of all.
    @inline(never)
    private nonisolated func found(for request: TransportRequest) async -> Boxed<IncompleteArrival> {
        guard let found = place.found(for: request).value else { return .none }
        return await take(found)
    }

    private func take(_ found: PartialPlace.Found) async -> Boxed<IncompleteArrival> {
        // Whoever comes next waits from now on, until it is put back.
        _ = hold.enter()
        partial = found.stored?.partial
        guard let kept = found.kept else { return Boxed(found.stored?.incomplete) }
        // Of two, the connection's own is the newer, and what the store has is another one, even where it is as long.
        await discardBegun()
        return .some(kept)
    }

    // MARK: Receiving

    func begin(_ incomplete: IncompleteArrival) async {
        guard !isRefused, hold.enter(), let entry = place.entry(for: incomplete.arrival) else {
            return await stopStoring()
        }
        isStorable = true
        if incomplete.received == 0 {
            writer = incomplete.continuation.length >= Self.streamedSize ? place.writer(for: entry) : nil
        } else if writer == nil, let partial, partial.size == incomplete.received {
            writer = place.writer(for: entry, continuing: partial)
        }
        // Else it is open since the attempt before, or nothing is written before the end.
    }

    func append(_ piece: Data) async {
        guard let writer else { return }
        // Of whom somebody has forgotten, nothing comes to disk any more.
        guard place.isWanted else { return await refuse() }
        do { try await writer.append(piece) } catch {
            place.report(error)
            await refuse()
        }
    }

    private func refuse() async {
        isRefused = true
        await stopStoring()
    }

    // MARK: The end

    // Most have found nothing and begun nothing, and need not come here for it.
    nonisolated func discard() async {
        if hold.hasBegun { await discardBegun() }
    }

    private func discardBegun() async {
        await stopStoring()
        if let partial { await place.erase(partial) }
        partial = nil
    }

    /// What was written is of no use to the store.
    private func stopStoring() async {
        isStorable = false
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    func keep(_ incomplete: IncompleteArrival, for request: TransportRequest) async {
        defer { hold.end() }
        // As it was: nothing has come behind it.
        let isThere = writer == nil && partial?.size == incomplete.received
        partial = nil
        guard !isThere, await !hasWritten(incomplete) else { return }
        place.keep(incomplete, for: request)
    }

    private func hasWritten(_ incomplete: IncompleteArrival) async -> Bool {
        guard isStorable, place.isWanted, let entry = place.entry(for: incomplete.arrival) else {
            await stopStoring()
            return false
        }
        do {
            let writer = try await writer(of: incomplete, entry)
            self.writer = nil
            try await writer?.abandon(keepingPartial: true)
            // Forgotten while it was written, it would outlive the logout.
            if !place.isWanted, let left = place.partial()?.partial { await place.erase(left) }
            return writer != nil
        } catch {
            place.report(error)
            return false
        }
    }

    /// The one that has written all that was received, or a new one that has.
    private func writer(of incomplete: IncompleteArrival, _ entry: CacheEntry) async throws(CacheError) -> BodyWriter? {
        if let writer, writer.size == incomplete.received { return writer }
        let writer = place.writer(for: entry)
        try await writer?.append(incomplete.arrival.body)
        return writer
    }

    /// Makes what was written the entry, where all of it was.
    ///
    /// - Returns: whether it is stored.
    nonisolated func finish(as stored: StoredResponse) async -> Bool {
        defer { hold.end() }
        // As with what is to be discarded.
        return hold.hasBegun ? await finishBegun(as: stored) : false
    }

    private func finishBegun(as stored: StoredResponse) async -> Bool {
        guard let writer, writer.size == stored.body.count else {
            await discardBegun()
            return false
        }
        (self.writer, partial) = (nil, nil)
        do {
            try await writer.finish(as: stored)
            return true
        } catch {
            place.report(error)
            return false
        }
    }
}
