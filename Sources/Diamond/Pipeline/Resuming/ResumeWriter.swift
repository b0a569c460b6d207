import Foundation
import HTTPTypes

/// The access of one exchange to the ``ResumeStore``. It reads the bytes that an earlier exchange has received, and
/// saves those that this one receives.
///
/// A body of a mebibyte or more is written while it is received, so that little is lost if the process dies. When it is
/// complete, the partial entry becomes the entry. A body that cannot be written stays in memory: a failure of the store
/// does not fail the request.
actor ResumeWriter: ResumeWriting {
    /// The length in bytes from which a body is written while it is received. Nothing of a shorter body is written
    /// before its end.
    static let streamedSize = BodyChunks.groupCount * CacheTable.chunkSize

    private let context: RequestContext
    private let pipeline: Pipeline
    /// The slot of the connection; `nil` for a task.
    private let slot: ResumeSlot?
    /// Whether the response may go into the cache's store.
    private let usesStore: Bool
    /// Whether the response replaces a stored one.
    private let isReplacing: Bool
    private let instant: InvalidationLog.Instant
    private let lock: ResumeLock

    /// The partial entry that was in the store when the exchange began.
    private var found: ResumeStore.Part?
    private var writer: BodyWriter?
    /// Whether the response that is being received may be stored.
    private var isStorable = false
    /// Whether nothing more is written, because writing has failed, or the response was erased meanwhile.
    private var isRefused = false

    /// Creates a writer; `nil` if no later exchange could find the response.
    init?(_ plan: ExchangePlan, in pipeline: Pipeline) {
        let context = plan.context
        // A sink has the bytes itself: see ``DownloadRecorder``.
        guard context.isContinuable, context.caller.sink == nil else { return nil }
        let slot = context.caller.run?.resumeSlot
        // A reload uses no stored response.
        let canUseStore = pipeline.resumeStore.hasCache && context.policy.mode != .reload
        let entry = canUseStore ? context.identity.map { ResumeStore.Location.entry($0.key) } : nil
        guard let location = entry ?? slot.map({ .slot(ObjectIdentifier($0)) }) else { return nil }
        self.context = context
        self.pipeline = pipeline
        self.slot = slot
        usesStore = entry != nil
        isReplacing = plan.stored != nil
        instant = pipeline.invalidations.now
        lock = ResumeLock(of: location, in: pipeline.resumeStore)
    }

    private nonisolated var store: ResumeStore { pipeline.resumeStore }

    /// Whether the identity has not logged out, and the response was not erased, since the exchange began.
    private nonisolated var isWanted: Bool { isWanted(since: instant) }

    private nonisolated func isWanted(since instant: InvalidationLog.Instant) -> Bool {
        pipeline.invalidations.keeps(context, since: instant)
    }

    /// Whether there is something to finish or to discard.
    nonisolated var hasBegun: Bool { lock.wasRequested }

    nonisolated func cancel() { lock.cancel() }

    /// Ends the access: the next exchange may begin.
    nonisolated func end() { lock.release() }

    // MARK: Finding

    // Not on the actor: most exchanges find nothing, and save the hop to it.
    nonisolated func partialResponse(for request: TransportRequest) async -> IndirectOptional<PartialResponse> {
        guard await lock.waitUntilFree(), mayFind else { return .none }
        return await find(for: request)
    }

    private nonisolated var mayFind: Bool { usesStore && store.mayHaveEntries || slot?.isEmpty == false }

    @inline(never)
    private nonisolated func find(for request: TransportRequest) async -> IndirectOptional<PartialResponse> {
        let stored = storedEntry()
        let own = slot?.remove(for: request, where: isWanted(since:))
        guard stored != nil || own != nil else { return .none }
        return await resume(stored, own: own)
    }

    private nonisolated func storedEntry() -> ResumeStore.Entry? {
        guard usesStore, let identity = pipeline.lookup.identityOfPart(for: context) else { return nil }
        return store.entry(under: identity, limit: pipeline.bodyLimit(of: context))
    }

    private func resume(
        _ stored: ResumeStore.Entry?,
        own: PartialResponse?
    ) async -> IndirectOptional<PartialResponse> {
        // From now on no other exchange resumes the response.
        _ = lock.acquire()
        found = stored?.part
        guard let own else { return IndirectOptional(stored?.response) }
        // The connection's own part is newer. The store has another response, even if it has the same count of bytes.
        await discardBegun()
        return .some(own)
    }

    // MARK: Receiving

    func begin(_ response: PartialResponse) async {
        guard !isRefused, lock.acquire(), let entry = entry(for: response.received) else { return await stopStoring() }
        isStorable = true
        if response.content.received.isEmpty {
            writer = response.content.completeLength >= Self.streamedSize ? openWriter(for: entry) : nil
        } else if writer == nil, let found, found.body.size == response.content.received.count,
            found.identity.key == entry.key
        {
            writer = openWriter(for: entry, continuing: found.body)
        }
        // Otherwise an earlier attempt has opened the writer, or nothing is written before the end.
    }

    func append(_ piece: Data) async {
        guard let writer else { return }
        guard isWanted else { return await refuse() }
        do { try await writer.append(piece) } catch {
            store.report(error)
            await refuse()
        }
    }

    /// Returns the entry of a response when it will be complete; `nil` if it may not be stored.
    private func entry(for received: ReceivedResponse) -> CacheEntry? {
        guard usesStore, isWanted, !received.isPersonal else { return nil }
        let decision = pipeline.store.decision(on: received, to: context)
        guard let stored = decision.stored,
            let target = pipeline.store.target(of: decision, for: context, at: received.receivedAt)
        else { return nil }
        // Stored before its variant, so that the end finds the same one.
        if let index = target.newIndex { pipeline.cache?.store(index) }
        return context.entry(stored, under: target.identity)
    }

    private func openWriter(for entry: CacheEntry, continuing body: PartialBody? = nil) -> BodyWriter? {
        store.writer(for: entry, continuing: body, replacing: isReplacing, isResumable: true)
    }

    private func refuse() async {
        isRefused = true
        await stopStoring()
    }

    // MARK: Ending

    // Not on the actor: most exchanges have nothing to discard, and save the hop to it.
    nonisolated func discard() async {
        if hasBegun { await discardBegun() }
    }

    private func discardBegun() async {
        await stopStoring()
        if let found { await erase(found) }
        found = nil
    }

    private func erase(_ part: ResumeStore.Part) async {
        let entry = context.entry(part.body.stored, under: part.identity)
        try? await openWriter(for: entry, continuing: part.body)?.abandon(keepingPartial: false)
    }

    /// Erases the written part.
    private func stopStoring() async {
        isStorable = false
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    func save(_ response: PartialResponse, for request: TransportRequest) async {
        defer { end() }
        let isUnchanged = writer == nil && found?.body.size == response.content.received.count
        found = nil
        guard !isUnchanged, await !write(response) else { return }
        slot?.put(response, for: request, at: instant)
    }

    /// - Returns: whether the store has the response.
    private func write(_ response: PartialResponse) async -> Bool {
        guard isStorable, let entry = entry(for: response.received) else {
            await stopStoring()
            return false
        }
        do {
            let writer = try await writer(of: response, as: entry)
            self.writer = nil
            try await writer?.abandon(keepingPartial: true)
            // The identity may have logged out meanwhile, and the entry must not outlive the logout.
            if !isWanted, let left = storedEntry()?.part { await erase(left) }
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
        try await writer?.append(response.received.body)
        return writer
    }

    /// Makes the partial entry the entry of its key if the whole body was written.
    ///
    /// - Returns: whether the entry is stored.
    nonisolated func finish(as entry: CacheEntry) async -> Bool {
        defer { end() }
        return hasBegun ? await finishBegun(as: entry) : false
    }

    private func finishBegun(as entry: CacheEntry) async -> Bool {
        guard let writer, writer.size == entry.stored.body.count else {
            await discardBegun()
            return false
        }
        self.writer = nil
        found = nil
        do {
            try await writer.finish(as: entry.stored, knownChange: entry.knownChange)
            return true
        } catch {
            store.report(error)
            return false
        }
    }
}
