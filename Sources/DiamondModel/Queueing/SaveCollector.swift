import Diamond
import Foundation
import HTTPTypes

/// Applies the responses to the queued calls of a class to its objects.
struct SaveCollector {
    /// An answered call, and the members of the object that it has sent.
    private struct Answered {
        let subject: QueuedSubject
        let kept: ReplayQueue.AnsweredJob
        let sent: [String: JSONValue]?
    }

    private let context: ModelContext
    private let type: Model.Type
    private let queue: ReplayQueue
    private let isIncluded: (ReplayJob) -> Bool

    init(
        context: ModelContext, type: Model.Type, queue: ReplayQueue, where isIncluded: @escaping (ReplayJob) -> Bool
    ) {
        self.context = context
        self.type = type
        self.queue = queue
        self.isIncluded = isIncluded
    }

    /// - Throws: `ReplayError` where the queue cannot be read or written; what ``ModelContext/recordSaves`` throws.
    nonisolated(nonsending) func collect() async throws -> [QueuedSave] {
        var saves: [QueuedSave] = []
        for (job, isConsumed) in try jobs() where job.hasEnded {
            guard let subject = QueuedSubject(job) else { continue }
            // Another context has taken it, and an object of this one has no id yet.
            if isConsumed, context.existing(type, for: subject)?.isNew != true { continue }
            guard let kept = try queue.answeredJob(job.id) else { continue }
            saves.append(apply(answered(subject, by: kept)))
        }
        let orphans = try await settleWaiting()
        for kept in orphans {
            if let subject = QueuedSubject(kept.job) { saves.append(revert(answered(subject, by: kept))) }
        }
        if saves.isEmpty { return [] }
        try context.recordSaves?(saves)
        for kept in orphans { try? await queue.discard(kept.job.id) }
        // The ids that the server has given are kept for others who need them.
        let makers = saves.filter { $0.call == .create && $0.failure == nil }.map(\.jobID)
        try await queue.consumeAnswers(of: saves.map(\.jobID), retaining: Set(makers))
        context.noteEnd(of: Set(saves.map(\.jobID)))
        return saves
    }

    private func jobs() throws -> [(job: ReplayJob, isConsumed: Bool)] {
        try queue.jobsStoringAnswers().filter { job, _ in
            isIncluded(job) && QueuedSubject(job)?.type == type.queueName
        }
    }

    private func answered(_ subject: QueuedSubject, by kept: ReplayQueue.AnsweredJob) -> Answered {
        let sent = kept.request.flatMap { try? type.object(in: $0)?.modelObject() }
        return Answered(subject: subject, kept: kept, sent: sent)
    }

    // MARK: Answers

    private func apply(_ answered: Answered) -> QueuedSave {
        var model = context.existing(type, for: answered.subject)
        do {
            if model == nil, answered.subject.call == .create { model = try restored(answered) }
            try applyAnswer(answered, to: model)
            return save(answered, of: model)
        } catch {
            // Another run of the program has set what the server has not taken.
            if answered.subject.call != .create, let sent = answered.sent, let model {
                try? model.applyEdits(from: sent, except: model.dirtyProperties)
            }
            return save(answered, of: model, failure: error)
        }
    }

    private func save(_ answered: Answered, of model: Model?, failure: (any Error)? = nil) -> QueuedSave {
        let subject = answered.subject
        return QueuedSave(
            call: subject.call, model: model, localID: subject.localID, serverID: model?.serverID ?? subject.serverID,
            changes: answered.sent.map(JSONValue.object), jobID: answered.kept.job.id, failure: failure)
    }

    private func restored(_ answered: Answered) throws -> Model? {
        func restore<Object: Model>(_: Object.Type) throws -> Object? {
            try answered.kept.request.flatMap { try context.restore(answered.subject, from: $0, except: []) }
        }
        return try restore(type)
    }

    private func applyAnswer(_ answered: Answered, to model: Model?) throws {
        guard answered.subject.call == .destroy else {
            let response = try response(of: answered.kept)
            if let model { try merge(response, to: answered, into: model) }
            return
        }
        let key = answered.kept.job.orderingKey ?? ""
        do {
            _ = try response(of: answered.kept)
        } catch let error as ConnectionError where error.saysGone {
            // The server has confirmed it.
        } catch {
            context.revertDeletion(key)
            throw error
        }
        model?.leaveCollections()
        context.endDeletion(key, isDestroyed: true)
    }

    private func response(of kept: ReplayQueue.AnsweredJob) throws -> Response {
        guard let answer = kept.answer else {
            throw kept.failure ?? ReplayError(.other, "job \(kept.job.id) has ended without an answer")
        }
        var headers = HTTPFields()
        headers[.location] = answer.location
        let response = Response(
            status: answer.status, headers: headers, body: answer.body ?? Data(), url: kept.request?.url ?? "")
        guard answer.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        return response
    }

    private func merge(_ response: Response, to answered: Answered, into model: Model) throws {
        // The object has been read since the server has answered: its values are newer.
        let isOutdated = answered.kept.answer.map { $0.receivedAt < model.syncing.mergedAt } ?? false
        let save = try PendingSave(
            answeredInQueue: answered.kept.request ?? Request(""), sent: answered.sent ?? [:], of: model,
            isNew: answered.subject.call == .create && model.isNew, isOutdated: isOutdated)
        defer { save.end() }
        try save.finish(response, on: model) {}
    }

    // MARK: Calls that wait for an id

    /// Puts the ids that are there into the calls that wait for them.
    ///
    /// - Returns: the calls whose objects will get none.
    private nonisolated(nonsending) func settleWaiting() async throws -> [ReplayQueue.AnsweredJob] {
        var orphans: [ReplayQueue.AnsweredJob] = []
        for (job, isConsumed) in try jobs() where !isConsumed && job.reason == .awaitingID {
            guard let subject = QueuedSubject(job), let localID = subject.localID else { continue }
            if let id = try id(for: subject, in: job.orderingKey) {
                try await queue.complete(job.id) { request in
                    request.url = request.url.replacing(localID.description.urlSegment, with: id.description.urlSegment)
                    request.replay.metadata["id"] = id.json
                }
            } else if try !isBeingMade(in: job.orderingKey), let kept = try queue.answeredJob(job.id) {
                orphans.append(kept)
            }
        }
        return orphans
    }

    /// The server's id of an object: that of its live instance, or that in the answer to the call that has made it.
    private func id(for subject: QueuedSubject, in key: String?) throws -> ModelID? {
        if let id = context.existing(type, for: subject)?.serverID { return id }
        for (job, _) in try jobs() where job.orderingKey == key && job.state == .done {
            guard QueuedSubject(job)?.call == .create, let kept = try queue.answeredJob(job.id),
                let response = try? response(of: kept)
            else { continue }
            return try? PendingSave.id(in: response, of: type)
        }
        return nil
    }

    /// Whether the call that makes an object may still be made.
    private func isBeingMade(in key: String?) throws -> Bool {
        try jobs().contains { job, _ in
            job.orderingKey == key && !job.hasEnded && QueuedSubject(job)?.call == .create
        }
    }

    private func revert(_ answered: Answered) -> QueuedSave {
        let model = context.existing(type, for: answered.subject)
        if answered.subject.call == .destroy { context.revertDeletion(answered.kept.job.orderingKey ?? "") }
        if let sent = answered.sent, let model { try? model.applyEdits(from: sent, except: model.dirtyProperties) }
        let error = ModelError(.missingID, "the object was not made, so that this call has no id to be made with")
        return save(answered, of: model, failure: error)
    }
}
