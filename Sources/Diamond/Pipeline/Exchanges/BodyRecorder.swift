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
    /// The bytes of a 206 that may be stored as a part; `nil` for other responses.
    private var part: Data?

    /// Creates a recorder; `nil` if no response to the request is stored.
    init?(_ plan: ExchangePlan, in pipeline: Pipeline) {
        guard pipeline.environment.gateway != nil, pipeline.cache != nil, plan.context.identity != nil,
            plan.context.caller.sink != nil
        else { return nil }
        context = plan.context
        self.pipeline = pipeline
        isReplacing = plan.stored != nil
    }

    func begin(_ head: ReceivedResponse) async {
        await discard()
        guard !head.isPersonal, !isTooLarge(head) else { return }
        guard head.status != .partialContent else {
            part = Data()
            return
        }
        let decision = pipeline.store.decision(on: head, to: context)
        guard let stored = decision.stored,
            let target = pipeline.store.target(of: decision, for: context, at: head.receivedAt)
        else { return }
        // Stored before its variant, so that the end finds the same one.
        if let index = target.newIndex { pipeline.cache?.store(index) }
        let entry = context.entry(stored, under: target.identity)
        writer = pipeline.resumeStore.writer(for: entry, continuing: nil, replacing: isReplacing)
    }

    /// Whether the announced body is larger than the store's bound.
    private func isTooLarge(_ head: ReceivedResponse) -> Bool {
        guard let length = head.headers.single(.contentLength).flatMap({ Int(digits: $0) }) else { return false }
        return pipeline.cache?.eviction.isTooLarge(length) ?? true
    }

    func append(_ piece: Data) async {
        guard part == nil else { return appendToPart(piece) }
        guard let writer else { return }
        do throws(CacheError) { try await writer.append(piece) } catch {
            pipeline.resumeStore.report(error)
            self.writer = nil
        }
    }

    private func appendToPart(_ piece: Data) {
        part?.append(piece)
        // A larger part is not stored.
        if let part, part.count > ResumeStore.partLimit { self.part = nil }
    }

    /// Erases what was written.
    func discard() async {
        part = nil
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    /// Stores the response whose body is complete.
    func finish(_ received: ReceivedResponse, admitted: ExchangeRequest) async {
        if let part {
            var received = received
            received.body = part
            return await pipeline.storePart(received, admitted: admitted)
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
