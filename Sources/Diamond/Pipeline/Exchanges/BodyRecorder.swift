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
        guard !head.isPersonal, !isTooLarge(head), let stored = pipeline.store.decision(on: head, to: context).stored,
            let entry = context.entry(stored)
        else { return }
        writer = pipeline.resumeStore.writer(for: entry, continuing: nil, replacing: isReplacing)
    }

    /// Whether the announced body is larger than the store's bound.
    private func isTooLarge(_ head: ReceivedResponse) -> Bool {
        guard let length = head.headers.single(.contentLength).flatMap({ Int(digits: $0) }) else { return false }
        return pipeline.cache?.eviction.isTooLarge(length) ?? true
    }

    func append(_ piece: Data) async {
        guard let writer else { return }
        do throws(CacheError) { try await writer.append(piece) } catch {
            pipeline.resumeStore.report(error)
            self.writer = nil
        }
    }

    /// Erases what was written.
    func discard() async {
        try? await writer?.abandon(keepingPartial: false)
        writer = nil
    }

    /// Stores the response whose body is complete.
    func finish(_ received: ReceivedResponse, admitted: ExchangeRequest) async {
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
