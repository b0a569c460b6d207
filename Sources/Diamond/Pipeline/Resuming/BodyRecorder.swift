import Foundation
import HTTPTypes

/// Records the body of one exchange in the cache's store, so that the response can be stored when it is complete, and a
/// later exchange can continue it (RFC 9111 section 3.3).
///
/// | body | recorded | continued by |
/// |---|---|---|
/// | collected, and may be stored | at the end of a broken transfer; one of a mebibyte or more while it is received, so that little is lost if the process dies | every exchange for the same request, in any process |
/// | collected, and may not be stored | in memory, in the ``ResumeSlot`` of its connection | that connection |
/// | goes into a sink of a gateway | while it is received: at most a mebibyte is in memory | |
/// | a part, or a response to POST that may answer GETs, goes into a sink | in memory, ``CacheLookup/partLimit`` bytes at most | |
///
/// A body that goes into a file has a recorder of its own (``RecordingSink``).
///
/// When the body is complete, the partial entry becomes the entry. Until then, lookups find the previous response. A
/// failure of the store fails no request: the body stays in memory, or is still passed on.
actor BodyRecorder: CacheRecording {
    /// The length in bytes from which a collected body is written while it is received. Nothing of a shorter body is
    /// written before its end.
    static let streamedSize = BodyChunks.groupCount * CacheTable.chunkSize

    let plan: ExchangePlan
    let store: ResponseStore
    let position: LogPosition
    private let bodyLimit: Int
    /// The lock of what an earlier exchange has left; `nil` for a body that goes into a sink.
    private let lock: ResumeLock?
    /// The slot of the connection; `nil` for a task.
    private let slot: ResumeSlot?
    /// Whether the response may go into the cache's store.
    private let usesStore: Bool

    /// The partial entry that was in the store when the exchange began.
    private var found: PartialBody?
    /// `nil` if nothing is written.
    var writer: BodyWriter?
    /// The place of the entry whose body goes into a sink and is written.
    var target: ResponseStore.Target?
    /// The bytes of a body that goes into a sink and is stored as a whole; `nil` for any other.
    var collected: Data?
    /// Whether the response that is being received may be stored.
    private var isStorable = false
    /// Whether nothing more is written, because writing has failed, or the response was erased meanwhile.
    private var isRefused = false

    /// Creates a recorder; `nil` if the response is never stored and invalidates nothing, and no later exchange could
    /// find it.
    init?(_ plan: ExchangePlan, in store: ResponseStore, environment: ExchangeEnvironment) {
        let context = plan.context
        if context.caller.sink != nil {
            // Interceptors validate what is stored, and not what goes into a sink.
            let isForPart = context.isForPart && environment.interceptors.isEmpty
            guard store.cache != nil, context.identity != nil || !context.wire.method.isSafe,
                store.isGateway || isForPart
            else { return nil }
            usesStore = true
            slot = nil
            lock = nil
        } else {
            guard context.isContinuable else { return nil }
            slot = context.caller.run?.resumeSlot
            // A reload uses no stored response.
            let canUseStore = store.cache != nil && context.policy.mode != .reload
            let entry = canUseStore ? context.identity.map { ResumeLocks.Location.entry($0.key) } : nil
            guard let location = entry ?? slot.map({ .slot(ObjectIdentifier($0)) }) else { return nil }
            usesStore = entry != nil
            lock = ResumeLock(of: location, in: store.locks)
        }
        self.plan = plan
        self.store = store
        bodyLimit = context.bodyLimit(in: environment)
        position = store.invalidations.position
    }

    nonisolated var context: RequestContext { plan.context }

    /// Whether there may be something to finish or to discard.
    nonisolated var hasBegun: Bool { lock?.wasRequested ?? true }

    nonisolated func cancel() { lock?.cancel() }

    /// Ends the recording: the next exchange may begin.
    nonisolated func end() { lock?.release() }

    // MARK: Finding

    // Not on the actor: most exchanges find nothing, and save the hop to it.
    nonisolated func partialResponse(for request: TransportRequest) async -> IndirectOptional<PartialResponse> {
        guard let lock, await lock.waitUntilFree(), mayFind else { return .none }
        return await find(for: request)
    }

    private nonisolated var mayFind: Bool {
        usesStore && store.cache?.mayHavePartialBodies == true || slot?.isEmpty == false
    }

    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private nonisolated func find(for request: TransportRequest) async -> IndirectOptional<PartialResponse> {
        let stored = storedBeginning()
        let own = slot?.remove(for: request, where: isWanted(since:))
        guard stored != nil || own != nil else { return .none }
        return await resume(stored, own: own)
    }

    private nonisolated func storedBeginning() -> CacheLookup.Beginning? {
        usesStore ? store.lookup.beginning(for: context, limit: bodyLimit) : nil
    }

    private func resume(
        _ stored: CacheLookup.Beginning?,
        own: PartialResponse?
    ) async -> IndirectOptional<PartialResponse> {
        // From now on no other exchange resumes the response.
        _ = lock?.acquire()
        found = stored?.body
        guard let own else { return IndirectOptional(stored?.response) }
        // The connection's own part is newer. The store has another response, even if it has the same count of bytes.
        await discardBegun()
        return .some(own)
    }

    // MARK: Receiving

    func begin(_ response: PartialResponse) async {
        guard !isRefused, lock?.acquire() == true, let entry = entry(for: response.received) else {
            return await stopStoring()
        }
        isStorable = true
        if response.content.received.isEmpty {
            writer = response.content.completeLength >= Self.streamedSize ? openWriter(for: entry) : nil
        } else if writer == nil, let found, found.size == response.content.received.count,
            found.outline.key == entry.key
        {
            writer = openWriter(for: entry, continuing: found)
        }
        // Otherwise an earlier attempt has opened the writer, or nothing is written before the end.
    }

    func append(_ piece: Data) async -> Bool {
        guard collected == nil else { return collect(piece) }
        guard let writer else { return false }
        guard isWanted else {
            await refuse()
            return false
        }
        do throws(CacheError) {
            try await writer.append(piece)
            noteWritten(by: writer)
        } catch {
            store.lookup.report(error)
            await refuse()
        }
        return self.writer != nil
    }

    /// Returns the entry of a collected response when it will be complete; `nil` if it may not be stored.
    private func entry(for received: ReceivedResponse) -> CacheEntry? {
        guard usesStore, isWanted, !received.isPersonal else { return nil }
        let decision = store.decision(on: received, to: context)
        guard let stored = decision.stored,
            let target = store.target(of: decision, for: context, at: received.receivedAt)
        else { return nil }
        // Stored before its variant, so that the end finds the same one.
        if let index = target.newIndex { store.cache?.store(index) }
        return context.entry(stored, under: target.identity)
    }

    /// Returns a writer for a body in pieces; `nil` if the store cannot write it.
    ///
    /// - Parameter body: the part that is in the store already.
    func openWriter(for entry: CacheEntry, continuing body: PartialBody? = nil) -> BodyWriter? {
        do throws(CacheError) {
            return try store.cache?.bodyWriter(
                for: entry, continuing: body, replacing: plan.stored != nil, isResumable: lock != nil)
        } catch {
            store.lookup.report(error)
            return nil
        }
    }

    private func refuse() async {
        isRefused = true
        await stopStoring()
        sharedBody?.noteFailure()
    }

    // MARK: Ending

    // Not on the actor: most exchanges have nothing to discard, and save the hop to it.
    nonisolated func discard() async {
        if hasBegun { await discardBegun() }
    }

    func discardBegun() async {
        collected = nil
        target = nil
        await stopStoring()
        if let found { await store.cache?.erase(found) }
        found = nil
    }

    /// Erases the written part.
    private func stopStoring() async {
        isStorable = false
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    func save(_ response: PartialResponse, for request: TransportRequest) async {
        defer { end() }
        let isUnchanged = writer == nil && found?.size == response.content.received.count
        found = nil
        guard !isUnchanged, await !write(response) else { return }
        slot?.put(response, for: request, at: position)
    }

    /// - Returns: whether the store has the response.
    private func write(_ response: PartialResponse) async -> Bool {
        guard isStorable, let entry = entry(for: response.received) else {
            await stopStoring()
            return false
        }
        do throws(CacheError) {
            let writer = try await writer(of: response, as: entry)
            self.writer = nil
            try await writer?.abandon(keepingPartial: true)
            // The identity may have logged out meanwhile, and the entry must not outlive the logout.
            if !isWanted, let left = storedBeginning()?.body { await store.cache?.erase(left) }
            return writer != nil
        } catch {
            store.lookup.report(error)
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

    /// Makes the partial entry of a collected body the entry of its key if the whole body was written.
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
        return await finish(writer, as: entry)
    }

    /// - Returns: whether the entry is stored.
    func finish(_ writer: BodyWriter, as entry: CacheEntry) async -> Bool {
        self.writer = nil
        found = nil
        do throws(CacheError) {
            try await writer.finish(as: entry.stored, knownChange: entry.knownChange)
            return true
        } catch {
            store.lookup.report(error)
            return false
        }
    }
}

/// A recorder of bytes that may be kept as long as the identity has not logged out, and the response was not erased.
protocol CacheRecording: BodyRecording {
    var context: RequestContext { get }
    var store: ResponseStore { get }
    /// The position in the log of invalidations at which the exchange began.
    var position: LogPosition { get }
}

extension CacheRecording {
    /// Whether the identity has not logged out, and the response was not erased, since the exchange began.
    var isWanted: Bool { isWanted(since: position) }

    func isWanted(since position: LogPosition) -> Bool {
        store.invalidations.keeps(context, since: position)
    }
}
