import Foundation
import HTTPTypes

/// Stores the response of a gateway's exchange while its body goes into the sink. At most a mebibyte of it is in memory.
///
/// Until ``finish(_:admitted:)``, lookups find the previous response. A body that cannot be written is passed on nevertheless.
actor BodyRecorder: BodyRecording {
    private let context: RequestContext
    private let pipeline: Pipeline
    /// Whether the response replaces a stored one.
    private let isReplacing: Bool
    /// `nil` if the response is not stored, and before it begins.
    private var writer: BodyWriter?
    /// The bytes of a 206 that may be stored as a part, or of a response to POST that may answer GETs; `nil` for other
    /// responses.
    private var collected: Data?

    /// Creates a recorder; `nil` if no response to the request is stored.
    init?(_ plan: ExchangePlan, in pipeline: Pipeline) {
        guard pipeline.environment.gateway != nil, pipeline.cache != nil, plan.context.caller.sink != nil,
            plan.context.identity != nil || plan.context.wire.method == .post
        else { return nil }
        context = plan.context
        self.pipeline = pipeline
        isReplacing = plan.stored != nil
    }

    func begin(_ head: ReceivedResponse) async -> Bool {
        await discard()
        guard !head.isPersonal, !isTooLarge(head) else { return false }
        guard head.status != .partialContent, context.wire.method != .post else {
            collected = Data()
            return false
        }
        let decision = pipeline.store.decision(on: head, to: context)
        guard let stored = decision.stored,
            let target = pipeline.store.target(of: decision, for: context, at: head.receivedAt)
        else { return false }
        // Stored before its variant, so that the end finds the same one.
        if let index = target.newIndex { pipeline.cache?.store(index) }
        let entry = context.entry(stored, under: target.identity)
        writer = pipeline.resumeStore.writer(for: entry, continuing: nil, replacing: isReplacing)
        return writer != nil
    }

    /// Whether the announced body is larger than the store's bound.
    private func isTooLarge(_ head: ReceivedResponse) -> Bool {
        guard let length = head.headers.single(.contentLength).flatMap({ Int(digits: $0) }) else { return false }
        return pipeline.cache?.eviction.isTooLarge(length) ?? true
    }

    func append(_ piece: Data) async {
        guard collected == nil else { return collect(piece) }
        guard let writer else { return }
        do throws(CacheError) { try await writer.append(piece) } catch {
            pipeline.resumeStore.report(error)
            self.writer = nil
        }
    }

    private func collect(_ piece: Data) {
        collected?.append(piece)
        // A larger one is not stored.
        if let collected, collected.count > ResumeStore.partLimit { self.collected = nil }
    }

    /// Erases what was written.
    func discard() async {
        collected = nil
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    /// Stores the response whose body is complete.
    ///
    /// - Parameter entryForGet: the entry of a response to POST that answers GETs, without its body.
    func finish(_ received: ReceivedResponse, admitted: ExchangeRequest, entryForGet: CacheEntry?) async {
        if let collected {
            if var entry = entryForGet {
                entry.stored.body = collected
                pipeline.cache?.store(entry, replacing: true)
            } else if received.status == .partialContent {
                var received = received
                received.body = collected
                await pipeline.storePart(received, admitted: admitted)
            }
            return
        }
        guard pipeline.store.isForCache(received, to: admitted.plan),
            var entry = pipeline.store.entry(of: received, to: admitted), let writer
        else { return await discard() }
        self.writer = nil
        do throws(CacheError) { try await writer.finish(as: entry.stored) } catch {
            return pipeline.resumeStore.report(error)
        }
        entry.stored.sizeElsewhere = writer.size
        pipeline.store.store(entry, admitted: admitted, isWritten: true)
    }
}
