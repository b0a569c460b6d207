import Foundation
import HTTPTypes

/// Stores the response of a gateway's exchange while its body goes into the sink. At most a mebibyte of the body is in
/// memory. A part, and a response to POST that may answer GETs, is in memory as a whole: ``ResumeStore/partLimit``
/// bytes at most. For an app's exchange, only parts are stored.
///
/// Until ``finish(_:admitted:entryForGet:)``, lookups find the previous response. A body that cannot be written is
/// still passed on.
actor BodyRecorder: BodyRecording {
    private let plan: ExchangePlan
    private let pipeline: Pipeline
    /// Whether only parts are stored.
    private let isForParts: Bool
    /// The body that other callers read, too; `nil` if the exchange is not shared.
    private let sharedBody: SharedBody?
    /// `nil` if the response is not stored, and before it begins.
    private var writer: BodyWriter?
    /// The place of the entry that the writer writes.
    private var target: ResponseStore.Target?
    /// The bytes of a 206 that may be stored as a part, or of a response to POST that may answer GETs; `nil` for any
    /// other response.
    private var collected: Data?

    /// Creates a recorder; `nil` if a response to the request is never stored, and invalidates none.
    init?(_ plan: ExchangePlan, in pipeline: Pipeline) {
        guard pipeline.cache != nil, plan.context.caller.sink != nil,
            plan.context.identity != nil || !plan.context.wire.method.isSafe
        else { return nil }
        isForParts = pipeline.environment.gateway == nil
        // Interceptors validate what is stored, and not what goes into a sink.
        guard !isForParts || plan.context.isForPart && pipeline.exchangeEnvironment.interceptors.isEmpty else {
            return nil
        }
        self.plan = plan
        self.pipeline = pipeline
        sharedBody = plan.context.caller.sink as? SharedBody
    }

    private var context: RequestContext { plan.context }

    func begin(_ head: ReceivedResponse) async -> Bool {
        let decision = await beginWriting(head)
        noteSharing(of: head, by: decision)
        return decision != nil
    }

    /// Notes whether the response may be shared: it is being stored, and is for all.
    private func noteSharing(of head: ReceivedResponse, by decision: StoreDecision?) {
        guard !isForParts else { return }
        let isForAll = decision.map { pipeline.store.isForAll(head, by: $0) } ?? false
        // Of a response that varies, the next caller may need another variant.
        if !isForAll || decision?.fields == nil { pipeline.sharing.note(isForAll, of: plan) }
        sharedBody?.note(SharedBody.Head(received: head, isForAll: isForAll))
    }

    /// - Returns: the decision; `nil` if the response is not written.
    private func beginWriting(_ head: ReceivedResponse) async -> StoreDecision? {
        await discard()
        let mayCollect = mayCollect(head)
        if !context.wire.method.isSafe, !mayCollect {
            // Not after the body: the client may read it slowly, or leave.
            await pipeline.invalidate(after: head, to: context)
        }
        guard !head.isPersonal, !isTooLarge(head), !isForParts || head.status == .partialContent,
            pipeline.store.isForCache(head, to: plan) || mayCollect
        else { return nil }
        guard head.status != .partialContent, context.wire.method != .post else {
            if mayCollect { collected = Data() }
            return nil
        }
        let decision = pipeline.store.decision(on: head, to: context)
        guard let stored = decision.stored,
            let target = pipeline.store.target(of: decision, for: context, at: head.receivedAt)
        else { return nil }
        self.target = target
        let entry = context.entry(stored, under: target.identity)
        writer = pipeline.resumeStore.writer(for: entry, continuing: nil, replacing: plan.stored != nil)
        return writer == nil ? nil : decision
    }

    /// Whether a 206 may be stored as a part, or a response to POST for GETs.
    private func mayCollect(_ head: ReceivedResponse) -> Bool {
        let headers = head.headers
        let length = headers.single(.contentLength).flatMap { Int(digits: $0) }
        guard length ?? 0 <= ResumeStore.partLimit else { return false }
        guard head.status == .partialContent else {
            return pipeline.store.mayAnswerGets(head, to: context)
        }
        return context.wire.method == .get && !headers.isCoded && ContentRange(headers) != nil
            && StrongValidator(headers, now: head.receivedAt) != nil
    }

    /// Whether the announced body is larger than the store's bound.
    private func isTooLarge(_ head: ReceivedResponse) -> Bool {
        guard let length = head.headers.single(.contentLength).flatMap({ Int(digits: $0) }) else { return false }
        return pipeline.cache?.eviction.isTooLarge(length) ?? true
    }

    func append(_ piece: Data) async -> Bool {
        guard collected == nil else { return collect(piece) }
        guard let writer else { return false }
        do throws(CacheError) {
            try await writer.append(piece)
            noteWritten(by: writer)
        } catch {
            pipeline.resumeStore.report(error)
            self.writer = nil
            sharedBody?.noteFailure()
        }
        return self.writer != nil
    }

    private func noteWritten(by writer: BodyWriter) {
        guard let sharedBody, writer.writtenSize > sharedBody.writtenSize, let reader = writer.writtenReader else {
            return
        }
        sharedBody.note(written: reader)
    }

    private func collect(_ piece: Data) -> Bool {
        collected?.append(piece)
        // A larger one is not stored.
        if let collected, collected.count > ResumeStore.partLimit { self.collected = nil }
        return collected != nil
    }

    /// Erases the written bytes.
    func discard() async {
        collected = nil
        target = nil
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    /// Stores the response whose body is complete.
    ///
    /// - Parameter entryForGet: the entry of a response to POST that answers GETs, without its body.
    func finish(
        _ received: ReceivedResponse,
        admitted: ExchangeRequest,
        entryForGet: ResponseStore.EntryForGet?
    ) async {
        if let collected {
            if var new = entryForGet {
                new.entry.stored.body = collected
                new.entry.stored.addLength(collected.count)
                pipeline.store.store(new)
            } else if received.status == .partialContent {
                var received = received
                received.body = collected
                await pipeline.storePart(received, admitted: admitted)
            }
            return
        }
        guard pipeline.store.isForCache(received, to: admitted.plan), storeIndex(of: received, admitted: admitted),
            var entry = pipeline.store.entry(of: received, to: admitted)
        else { return await discard() }
        guard let writer else {
            // The body is too large, or cannot be written.
            if !isForParts { pipeline.store.erasePredecessor(of: received, plan: plan) }
            return
        }
        self.writer = nil
        entry.stored.addLength(writer.size)
        do throws(CacheError) {
            try await writer.finish(as: entry.stored, knownChange: entry.knownChange)
        } catch {
            return pipeline.resumeStore.report(error)
        }
        noteWritten(by: writer)
        entry.stored.sizeElsewhere = writer.size
        pipeline.store.store(entry, admitted: admitted, isWritten: true)
    }

    /// Stores the index of the variant that the writer writes, if the cache does not have it. Before the variant, so
    /// that the variant is found under it.
    ///
    /// - Returns: `false` if a newer response is stored, which the index would hide.
    private func storeIndex(of received: ReceivedResponse, admitted: ExchangeRequest) -> Bool {
        guard writer != nil, let target, let index = target.newIndex else { return true }
        let decision = pipeline.store.decision(on: received, to: context)
        guard pipeline.store.isCurrent(received, decision: decision, target: target.identity, admitted: admitted)
        else { return false }
        pipeline.cache?.store(index)
        return true
    }
}

extension RequestContext {
    /// Whether a 206 to the request may be stored as a part.
    fileprivate var isForPart: Bool {
        identity != nil && wire.method == .get && resolved.conditions.value?.hasRange == true
    }
}

extension StoredResponse {
    /// Adds `Content-Length`, now that the length is known: a body that came in chunks is served with it.
    fileprivate mutating func addLength(_ length: Int) {
        var headers = headers
        // A 204 has no length (RFC 9110 section 8.6).
        guard status != 204, !headers.contains(.contentLength) else { return }
        headers[.contentLength] = String(length)
        headerBlock = HeaderBlock.bytes(of: headers)
        know(headers)
    }
}
