import Diamond
import Foundation
import HTTPTypes

/// Applies the responses to the queued calls of a class to its objects.
struct SaveCollector {
    /// An answered call, with the members of the object that it has sent.
    private struct AnsweredCall {
        let subject: QueuedSubject
        let stored: ReplayQueue.AnsweredJob
        let sent: [String: JSONValue]?
    }

    let context: ModelContext
    let type: Model.Type
    let queue: ReplayQueue
    /// Whether a job's response is applied.
    let isIncluded: (ReplayJob) -> Bool

    /// Applies the stored answers, and returns their saves.
    ///
    /// - Throws: `ReplayError` if the queue cannot be read or written; the error of ``ModelContext/recordSaves``.
    nonisolated(nonsending) func collect() async throws -> [QueuedSave] {
        var saves: [QueuedSave] = []
        let all = try queue.jobsStoringAnswers()
        context.notingIDs { context.noteIDs(of: all) }
        let jobs = try jobs()
        // The calls that need review and were not reported yet.
        let reviews = jobs.filter { job, isConsumed in
            !isConsumed && job.state == .needsReview && context.reviews[job.id] != job.transitionTime
        }.map(\.job)
        for (job, isConsumed) in jobs where job.hasEnded {
            guard let subject = QueuedSubject(job) else { continue }
            // A consumed answer matters only to a new object of this context: another context has applied it.
            if isConsumed, context.existing(type, for: subject)?.isNew != true { continue }
            guard let stored = try queue.answeredJob(job.id) else { continue }
            saves.append(apply(answered(subject, by: stored)))
        }
        try await assignIDs()
        let orphans = try orphans()
        for stored in orphans {
            if let subject = QueuedSubject(stored.job) { saves.append(revert(answered(subject, by: stored))) }
        }
        if saves.isEmpty { return report(reviews) }
        try context.recordSaves?(saves)
        for stored in orphans { try? await queue.discard(stored.job.id) }
        for save in saves where save.call == .destroy && save.failure == nil && save.serverID == nil {
            try await save.model?.discardReferences(among: context.overlay.calls)
        }
        // Answers with a new object's id stay in the queue: other contexts may need the id.
        let creations = saves.filter { $0.call == .create && $0.failure == nil }.map(\.jobID)
        try await queue.consumeAnswers(of: saves.map(\.jobID), retaining: Set(creations))
        context.removeCalls(Set(saves.map(\.jobID)))
        for save in saves { context.reviews[save.jobID] = nil }
        return (saves + report(reviews)).sorted { $0.jobID < $1.jobID }
    }

    // MARK: Calls that need review

    /// Returns the saves of calls that need review. The calls stay in the queue, and their answers are still applied.
    private func report(_ reviews: [ReplayJob]) -> [QueuedSave] {
        reviews.compactMap { job in
            context.reviews[job.id] = job.transitionTime
            guard let subject = QueuedSubject(job) else { return nil }
            let request = try? queue.request(of: job.id)
            return QueuedSave(
                call: subject.call, model: context.existing(type, for: subject), localID: subject.localID,
                serverID: subject.serverID, changes: request.flatMap { try? type.object(in: $0) }, jobID: job.id,
                failure: ModelError.needsReview(job))
        }
    }

    private func jobs() throws -> [(job: ReplayJob, isConsumed: Bool)] {
        try queue.jobsStoringAnswers().filter { job, _ in
            isIncluded(job) && QueuedSubject(job)?.type == type.queueName
        }
    }

    private func answered(_ subject: QueuedSubject, by stored: ReplayQueue.AnsweredJob) -> AnsweredCall {
        let sent = stored.request.flatMap { try? type.object(in: $0)?.modelObject() }
        return AnsweredCall(subject: subject, stored: stored, sent: sent)
    }

    // MARK: Answers

    private func apply(_ answered: AnsweredCall) -> QueuedSave {
        let live = context.existing(type, for: answered.subject)
        var model = live
        // Its changes are no longer shown by the context: they are the server's values, or unsaved ones.
        context.overlay.calls.noteAnswer(of: answered.stored.job.id)
        do {
            if model == nil, answered.subject.call == .create, answered.stored.request != nil {
                model = context.newModel(for: answered.subject, as: type, from: answered.sent ?? [:])
            }
            try applyAnswer(answered, to: model)
            return save(answered, of: model)
        } catch {
            return refuse(answered, of: live, restored: model, error)
        }
    }

    /// Makes the values of a call that was not accepted unsaved changes.
    ///
    /// - Parameters:
    ///   - live: The object, if it was live.
    ///   - restored: The object, if it was live or created from the call.
    private func refuse(
        _ answered: AnsweredCall, of live: Model?, restored: Model? = nil, _ error: any Error
    ) -> QueuedSave {
        // A new object has its values.
        if answered.subject.call != .create, let sent = answered.sent, let live { live.restoreEdits(from: sent) }
        let job = answered.stored.job
        let failure = SaveFailure(call: answered.subject.call, error: error)
        context.noteRefusal(
            QueueOverlay.RefusedCall(
                jobID: job.id, subject: answered.subject, identity: job.identity, object: answered.sent ?? [:],
                failure: failure),
            of: live)
        if live == nil { restored?.noteFailure(failure) }
        return save(answered, of: restored ?? live, failure: error)
    }

    private func save(_ answered: AnsweredCall, of model: Model?, failure: (any Error)? = nil) -> QueuedSave {
        let subject = answered.subject
        return QueuedSave(
            call: subject.call, model: model, localID: subject.localID, serverID: model?.serverID ?? subject.serverID,
            changes: answered.sent.map(JSONValue.object), jobID: answered.stored.job.id, failure: failure)
    }

    private func applyAnswer(_ answered: AnsweredCall, to model: Model?) throws {
        guard answered.subject.call == .destroy else {
            let response = try response(of: answered.stored)
            if let model { try merge(response, to: answered, into: model) }
            return
        }
        let key = answered.stored.job.orderingKey ?? ""
        do {
            _ = try response(of: answered.stored)
        } catch let error as ConnectionError where error.saysGone {
            // The server has confirmed it.
        } catch {
            context.revertDeletion(key)
            throw error
        }
        if let model { context.endDeletion(of: model, at: key) } else { context.endDeletion(key, isDestroyed: true) }
    }

    private func response(of stored: ReplayQueue.AnsweredJob) throws -> Response {
        guard let answer = stored.answer else {
            throw stored.failure ?? ReplayError(.other, "job \(stored.job.id) has ended without an answer")
        }
        let response = answer.response(from: stored.request?.url ?? "")
        guard answer.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        return response
    }

    private func merge(_ response: Response, to answered: AnsweredCall, into model: Model) throws {
        let save = try PendingSave(
            answeredInQueue: answered.stored.request ?? Request(""), sent: answered.sent ?? [:], of: model,
            isNew: answered.subject.call == .create && model.isNew, receivedAt: answered.stored.receivedAt)
        defer { save.end() }
        try save.finish(response, on: model) {}
        guard answered.subject.call == .create else { return }
        let list = answered.subject.list
        for case let entry as Entry in model.links { entry.owner?.confirmCreation(of: model, in: list) }
    }

    // MARK: Calls that wait for an id

    /// Puts the ids into waiting calls that the queue did not find in the answers, because only the class can read them.
    private nonisolated(nonsending) func assignIDs() async throws {
        let all = try queue.jobsStoringAnswers().map(\.job)
        let awaited = Set(all.flatMap(\.awaitedJobs))
        for job in all where awaited.contains(job.id) && job.state == .done && isIncluded(job) {
            guard let subject = QueuedSubject(job), subject.type == type.queueName, subject.serverID == nil,
                let localID = subject.localID, let id = try id(for: subject, answeredTo: job)
            else { continue }
            try await queue.assign(id.json, to: localID.description)
        }
        // Objects that were created without the queue.
        for job in all where job.reason == .creationFailed && isIncluded(job) {
            for name in try queue.request(of: job.id)?.replay.awaits ?? [] {
                if let id = context.serverIDs[name] { try await queue.assign(id, to: name) }
            }
        }
    }

    /// Returns the server's id of an object, from its live instance or from the answer to the call that has created it.
    private func id(for subject: QueuedSubject, answeredTo job: ReplayJob) throws -> ModelID? {
        if let id = context.existing(type, for: subject)?.serverID { return id }
        guard let stored = try queue.answeredJob(job.id), let response = try? response(of: stored) else { return nil }
        return try? PendingSave.id(in: response, of: type)
    }

    /// Returns the calls of objects that will never get an id.
    private func orphans() throws -> [ReplayQueue.AnsweredJob] {
        let jobs = try jobs()
        return try jobs.compactMap { job, isConsumed in
            guard !isConsumed, job.state == .held, job.reason == .creationFailed, let subject = QueuedSubject(job),
                subject.call != .create, subject.serverID == nil,
                !jobs.contains(where: { other, _ in
                    other.orderingKey.isExactly(job.orderingKey) && !other.hasEnded
                        && QueuedSubject(other)?.call == .create
                })
            else { return nil }
            return try queue.answeredJob(job.id)
        }
    }

    private func revert(_ answered: AnsweredCall) -> QueuedSave {
        let model = context.existing(type, for: answered.subject)
        if answered.subject.call == .destroy {
            // The server has never had the object.
            context.overlay.refused.removeAll { $0.subject.localID == answered.subject.localID }
            if let model { context.endDeletion(of: model, at: answered.stored.job.orderingKey ?? "") }
            return save(answered, of: model)
        }
        let error = ModelError(
            .missingID, "the call that creates the object has failed, so this call has no id: save the object again")
        return refuse(answered, of: model, error)
    }
}

extension ModelError {
    fileprivate static func needsReview(_ job: ReplayJob) -> ModelError {
        ModelError(
            .needsReview,
            "the server may have processed \(job.method) \(job.url) or not, and does not support Idempotency-Key: "
                + "redrive job \(job.id) to send it again, or discard it")
    }
}
