import Diamond
import Foundation
import HTTPTypes

/// Takes the answer to one queued call into its object.
struct SaveCollector {
    private let context: ModelContext
    private let type: Model.Type
    private let subject: QueuedSubject
    private let kept: ReplayQueue.KeptJob
    private let sent: [String: JSONValue]

    init(_ context: ModelContext, _ type: Model.Type, _ subject: QueuedSubject, _ kept: ReplayQueue.KeptJob) throws {
        (self.context, self.type, self.subject, self.kept) = (context, type, subject, kept)
        sent = (try? type.object(in: kept.request)?.modelObject()) ?? [:]
    }

    /// - Throws: `ReplayError` where the queue cannot be written.
    nonisolated(nonsending) func collect(from queue: ReplayQueue) async throws -> QueuedSave {
        let model = try context.existing(type, subject) ?? (subject.call == .create ? restored() : nil)
        var failure: (any Error)?
        do { try take(into: model) } catch { failure = error }
        let id = model?.serverID ?? subject.serverID
        if subject.call == .create { try await settleWaiting(id, model, queue) }
        model?.syncing.queuedBody = nil
        return QueuedSave(
            call: subject.call, model: model, localID: subject.localID, serverID: id, jobID: kept.job.id,
            failure: failure)
    }

    private func restored() throws -> Model? {
        func restore<Object: Model>(_: Object.Type) throws -> Object? {
            try context.restore(subject, kept.request)
        }
        return try restore(type)
    }

    private func take(into model: Model?) throws {
        let key = kept.job.orderingKey ?? ""
        guard subject.call == .destroy else {
            let response = try response()
            if let model { try merge(response, into: model) }
            return
        }
        do {
            _ = try response()
        } catch let error as ConnectionError where error.saysGone {
            // The server has confirmed it.
        } catch {
            context.takeBackLeaving(key)
            throw error
        }
        model?.leaveCollections()
        context.endLeaving(key, isDestroyed: true)
    }

    private func response() throws -> Response {
        guard let answer = kept.answer else {
            throw kept.failure ?? ReplayError(.other, "job \(kept.job.id) has no answer")
        }
        var headers = HTTPFields()
        headers[.location] = answer.location
        let response = Response(
            status: answer.status, headers: headers, body: answer.body ?? Data(), url: kept.request.url)
        guard answer.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        return response
    }

    private func merge(_ response: Response, into model: Model) throws {
        let loadedAt = model.syncing.loadState.loadedAt
        // The object was loaded after the server had answered: its values are newer.
        let isOutdated = kept.answer.flatMap { answer in loadedAt.map { $0 > answer.receivedAt } } ?? false
        let save = try PendingSave(
            answeredInQueue: kept.request, sent, of: model, isNew: subject.call == .create, isOutdated: isOutdated)
        defer { save.end() }
        try save.finish(response, on: model) {}
    }

    /// Sends what has waited for the object's id, or takes it back into the object where there is none.
    private nonisolated(nonsending) func settleWaiting(
        _ id: ModelID?, _ model: Model?, _ queue: ReplayQueue
    ) async throws {
        let waiting = try queue.jobsKeepingAnswers().filter {
            $0.reason == .awaitingID && $0.orderingKey == kept.job.orderingKey
        }
        guard let id, let localID = subject.localID else { return try await takeBack(waiting, model, queue) }
        for job in waiting {
            try await queue.complete(job.id) { request in
                request.url = request.url.replacing(localID.description.urlSegment, with: id.description.urlSegment)
                request.replay.metadata["id"] = id.json
            }
        }
    }

    private nonisolated(nonsending) func takeBack(
        _ waiting: [ReplayJob], _ model: Model?, _ queue: ReplayQueue
    ) async throws {
        for job in waiting {
            if let model, let request = try queue.request(of: job.id),
                let object = try? type.object(in: request)?.modelObject()
            {
                try? model.takeEdits(from: object)
            }
            try await queue.discard(job.id)
            model?.syncing.queuedJobs.remove(job.id)
        }
        try await queue.forgetAnswers(of: waiting.map(\.id))
    }
}
