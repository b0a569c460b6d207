import Foundation
import HTTPTypes

/// Recording a body that goes into a sink. In an app, only parts are stored.
extension BodyRecorder {
    /// The body that other callers read, too; `nil` if the exchange is not shared.
    var sharedBody: SharedBody? { context.caller.sink as? SharedBody }

    func open(_ head: ReceivedResponse) async -> Bool {
        await discardBegun()
        let mayCollect = mayCollect(head)
        if !context.wire.method.isSafe, !mayCollect {
            // Not after the body: the client may read it slowly, or leave.
            await store.invalidate(after: head, to: context)
        }
        let decision = beginWriting(head, mayCollect: mayCollect)
        if store.isGateway { noteSharing(of: head, by: decision) }
        return decision != nil
    }

    /// Notes whether the response may be shared: it is being stored, and is for all.
    private func noteSharing(of head: ReceivedResponse, by decision: StoreDecision?) {
        let isForAll = decision.map { store.isForAll(head, by: $0) } ?? false
        // Of a response that varies, the next caller may need another variant.
        if !isForAll || decision?.fields == nil { store.unshared.note(isForAll, of: plan) }
        sharedBody?.note(SharedBody.Head(received: head, isForAll: isForAll))
    }

    /// - Returns: the decision; `nil` if the response is not written.
    private func beginWriting(_ head: ReceivedResponse, mayCollect: Bool) -> StoreDecision? {
        guard !head.isPersonal, !isTooLarge(head), store.isGateway || head.status == .partialContent,
            store.isForCache(head, to: plan) || mayCollect
        else { return nil }
        guard head.status != .partialContent, context.wire.method != .post else {
            if mayCollect { collected = Data() }
            return nil
        }
        let decision = store.decision(on: head, to: context)
        guard let stored = decision.stored,
            let target = store.target(of: decision, for: context, at: head.receivedAt)
        else { return nil }
        self.target = target
        writer = openWriter(for: context.entry(stored, under: target.identity))
        return writer == nil ? nil : decision
    }

    /// Whether a 206 may be stored as a part, or a response to POST for GETs.
    private func mayCollect(_ head: ReceivedResponse) -> Bool {
        let headers = head.headers
        let length = headers.single(.contentLength).flatMap { Int(digits: $0) }
        guard length ?? 0 <= CacheLookup.partLimit else { return false }
        guard head.status == .partialContent else { return store.mayAnswerGets(head, to: context) }
        return context.wire.method == .get && !headers.isCoded && ContentRange(headers) != nil
            && StrongValidator(headers, now: head.receivedAt) != nil
    }

    /// Whether the announced body is larger than the store's bound.
    private func isTooLarge(_ head: ReceivedResponse) -> Bool {
        guard let length = head.headers.single(.contentLength).flatMap({ Int(digits: $0) }) else { return false }
        return store.cache?.storage.isTooLarge(length) ?? true
    }

    func collect(_ piece: Data) -> Bool {
        collected?.append(piece)
        // A larger one is not stored.
        if let collected, collected.count > CacheLookup.partLimit { self.collected = nil }
        return collected != nil
    }

    func noteWritten(by writer: BodyWriter) {
        guard let sharedBody, writer.writtenSize > sharedBody.writtenSize, let reader = writer.writtenReader else {
            return
        }
        sharedBody.note(written: reader)
    }

    /// Stores the response whose body has gone into the sink.
    ///
    /// - Parameter entryForGet: the entry of a response to POST that answers GETs, without its body.
    func finish(
        _ received: ReceivedResponse,
        admitted: Exchange,
        entryForGet: ResponseStore.EntryForGet?
    ) async {
        if let collected {
            return await storeCollected(collected, of: received, admitted: admitted, entryForGet: entryForGet)
        }
        guard store.isForCache(received, to: admitted.plan),
            var entry = store.entry(of: received, to: admitted, at: writer == nil ? nil : target)
        else { return await discardBegun() }
        guard let writer else {
            // The body is too large, or cannot be written.
            if store.isGateway { store.erasePredecessor(of: received, plan: plan) }
            return
        }
        entry.stored.addLength(writer.size)
        guard await finish(writer, as: entry) else { return }
        noteWritten(by: writer)
        entry.stored.sizeElsewhere = writer.size
        store.add(entry, admitted: admitted, isWritten: true)
    }

    private func storeCollected(
        _ body: Data,
        of received: ReceivedResponse,
        admitted: Exchange,
        entryForGet: ResponseStore.EntryForGet?
    ) async {
        if var new = entryForGet {
            new.entry.stored.body = body
            new.entry.stored.addLength(body.count)
            store.add(new)
        } else if received.status == .partialContent {
            var received = received
            received.body = body
            await store.storePart(received, admitted: admitted)
        }
    }
}

extension RequestContext {
    /// Whether a 206 to the request may be stored as a part.
    var isForPart: Bool { identity != nil && wire.method == .get && resolved.conditions.value?.hasRange == true }
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

/// A sink that records the received bytes itself, so that a later exchange continues them.
protocol RecordingSink: BodySink {
    /// Returns the recorder of an exchange; `nil` if the response cannot be continued.
    func recorder(of plan: ExchangePlan, in store: ResponseStore) -> (any BodyRecording)?
}
