import Foundation
import HTTPTypes

/// One exchange's access to the ``ResumeStore``: what an earlier exchange has received, and what this one receives.
///
/// A body of a mebibyte or more is written as it comes, so that little of it is lost when the process dies. When it ends,
/// the partial entry becomes the entry. What cannot be written stays in memory: a failure of the store does not fail the
/// request.
actor ResumeWriter: ResumeWriting {
    /// The length from which on a body is written as it comes. Of a shorter one, the writer writes nothing before the end.
    static let streamedSize = BodyChunks.groupCount * CacheTable.chunkSize

    private let context: RequestContext
    private let pipeline: Pipeline
    /// `nil` where no connection asks.
    private let slot: ResumeSlot?
    /// Whether the response may go into the cache's store.
    private let usesStore: Bool
    /// Whether another response was stored, and is outdated.
    private let isReplacing: Bool
    private let instant: InvalidationLog.Instant
    private let lock: ResumeLock

    /// The partial entry that was in the store when the exchange began.
    private var found: PartialBody?
    private var writer: BodyWriter?
    /// Whether the response that is being received may be stored.
    private var isStorable = false
    /// Whether writing has failed, or the response was erased meanwhile: nothing more is written.
    private var isRefused = false

    /// - Returns: `nil` where no later exchange could find the response.
    init?(_ plan: ExchangePlan, in pipeline: Pipeline) {
        let context = plan.context
        guard context.isContinuable else { return nil }
        let slot = context.caller.run?.resumeSlot
        // A sink has the bytes itself, and the slot has their count. A reload uses no stored response.
        let canUseStore =
            pipeline.resumeStore.hasCache && context.caller.sink == nil && context.policy.mode != .reload
        let entry = canUseStore ? context.identity.map { ResumeStore.Place.entry($0.key) } : nil
        guard let place = entry ?? slot.map({ .slot(ObjectIdentifier($0)) }) else { return nil }
        self.context = context
        self.pipeline = pipeline
        self.slot = slot
        usesStore = entry != nil
        isReplacing = plan.stored != nil
        instant = pipeline.invalidations.now
        lock = ResumeLock(of: place, in: pipeline.resumeStore)
    }

    private nonisolated var store: ResumeStore { pipeline.resumeStore }

    /// Whether the request's user was not forgotten, and its response not erased, since the exchange began.
    private nonisolated var isWanted: Bool { isWanted(since: instant) }

    private nonisolated func isWanted(since instant: InvalidationLog.Instant) -> Bool {
        !pipeline.invalidations.hasLogout(of: context.wire.identity, since: instant)
            && !pipeline.invalidations.hasErased(context, since: instant)
    }

    /// Whether there is something to finish or to discard.
    nonisolated var hasBegun: Bool { lock.wasRequested }

    nonisolated func cancel() { lock.cancel() }

    /// Ends the exchange's access: the next exchange may begin.
    nonisolated func end() { lock.release() }

    // MARK: Finding

    // Most exchanges find nothing, and need no hop to the actor to know.
    nonisolated func partialResponse(for request: TransportRequest) async -> IndirectOptional<PartialResponse> {
        guard await lock.waitUntilFree(), mayFind else { return .none }
        return await find(for: request)
    }

    private nonisolated var mayFind: Bool { usesStore && store.mayHaveEntries || slot?.isEmpty == false }

    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private nonisolated func find(for request: TransportRequest) async -> IndirectOptional<PartialResponse> {
        let stored = storedEntry()
        let own = slot?.take(for: request, where: isWanted(since:))
        guard stored != nil || own != nil else { return .none }
        return await take(stored, own: own)
    }

    private nonisolated func storedEntry() -> ResumeStore.Entry? {
        guard usesStore, let identity = context.identity else { return nil }
        return store.entry(
            of: identity.key, request: identity.canonicalForm, limit: pipeline.bodyLimit(of: context))
    }

    private func take(_ stored: ResumeStore.Entry?, own: PartialResponse?) async -> IndirectOptional<PartialResponse> {
        // From now on the next exchange waits until it is put back.
        _ = lock.acquire()
        found = stored?.body
        guard let own else { return IndirectOptional(stored?.response) }
        // The connection's own is newer: the store has another response, even where it has as many bytes.
        await discardBegun()
        return .some(own)
    }

    // MARK: Receiving

    func begin(_ response: PartialResponse) async {
        guard !isRefused, lock.acquire(), let entry = entry(for: response.arrival) else { return await stopStoring() }
        isStorable = true
        if response.content.received.isEmpty {
            writer = response.content.completeLength >= Self.streamedSize ? openWriter(for: entry) : nil
        } else if writer == nil, let found, found.size == response.content.received.count {
            writer = openWriter(for: entry, continuing: found)
        }
        // Otherwise the attempt before has opened it, or nothing is written before the end.
    }

    func append(_ piece: Data) async {
        guard let writer else { return }
        guard isWanted else { return await refuse() }
        do { try await writer.append(piece) } catch {
            store.report(error)
            await refuse()
        }
    }

    /// Returns what to store a response as once it is complete; `nil` where it may not be stored.
    private func entry(for arrival: ReceivedResponse) -> CacheEntry? {
        guard usesStore, isWanted, !arrival.isPersonal else { return nil }
        return pipeline.store.decision(on: arrival, context).stored.flatMap { context.entry($0) }
    }

    private func openWriter(for entry: CacheEntry, continuing body: PartialBody? = nil) -> BodyWriter? {
        store.writer(for: entry, continuing: body, replacing: isReplacing)
    }

    private func refuse() async {
        isRefused = true
        await stopStoring()
    }

    // MARK: Ending

    // Most exchanges have nothing to discard, and need no hop to the actor to know.
    nonisolated func discard() async {
        if hasBegun { await discardBegun() }
    }

    private func discardBegun() async {
        await stopStoring()
        if let found { await erase(found) }
        found = nil
    }

    private func erase(_ body: PartialBody) async {
        guard let entry = context.entry(body.stored) else { return }
        try? await openWriter(for: entry, continuing: body)?.abandon(keepingPartial: false)
    }

    /// Erases what was written.
    private func stopStoring() async {
        isStorable = false
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    func keep(_ response: PartialResponse, for request: TransportRequest) async {
        defer { end() }
        let isUnchanged = writer == nil && found?.size == response.content.received.count
        found = nil
        guard !isUnchanged, await !write(response) else { return }
        slot?.put(response, for: request, at: instant)
    }

    /// - Returns: whether the store has the response.
    private func write(_ response: PartialResponse) async -> Bool {
        guard isStorable, let entry = entry(for: response.arrival) else {
            await stopStoring()
            return false
        }
        do {
            let writer = try await writer(of: response, as: entry)
            self.writer = nil
            try await writer?.abandon(keepingPartial: true)
            // The user may have been forgotten while it was written: it must not outlive the logout.
            if !isWanted, let left = storedEntry()?.body { await erase(left) }
            return writer != nil
        } catch {
            store.report(error)
            return false
        }
    }

    /// Returns the writer that has all received bytes: the open one, or a new one.
    private func writer(of response: PartialResponse, as entry: CacheEntry) async throws(CacheError) -> BodyWriter? {
        if let writer, writer.size == response.content.received.count { return writer }
        let writer = openWriter(for: entry)
        try await writer?.append(response.arrival.body)
        return writer
    }

    /// Makes the partial entry the entry of its key, where all of the body was written.
    ///
    /// - Returns: whether it is stored.
    nonisolated func finish(as stored: StoredResponse) async -> Bool {
        defer { end() }
        return hasBegun ? await finishBegun(as: stored) : false
    }

    private func finishBegun(as stored: StoredResponse) async -> Bool {
        guard let writer, writer.size == stored.body.count else {
            await discardBegun()
            return false
        }
        self.writer = nil
        found = nil
        do {
            try await writer.finish(as: stored)
            return true
        } catch {
            store.report(error)
            return false
        }
    }
}
