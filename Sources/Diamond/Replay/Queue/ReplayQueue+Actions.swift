public import Foundation
import HTTPTypes

/// Actions on single jobs, and holds.
extension ReplayQueue {
    /// Makes a waiting job ready now.
    ///
    /// - Throws: ``ReplayError``: `noJob` if there is no such job; `wrongState` if the job is neither waiting nor
    ///   ready.
    public func retry(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.retry, to: id) }

    /// Makes the waiting jobs that match a filter ready now, whatever they wait for.
    ///
    /// - Parameter filter: the filter of the jobs. Jobs in other states than waiting and ready are skipped.
    /// - Returns: the number of jobs.
    /// - Throws: ``ReplayError`` if the file cannot be read or written. Jobs may be ready by then.
    @discardableResult
    public func retry(_ filter: ReplayFilter) async throws(ReplayError) -> Int {
        try await apply(.retry, to: filter).done.count
    }

    /// Holds a job until it is released.
    public func hold(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.hold, to: id) }

    /// Releases a job that was itself held, or had no credential. The job stays held while its key, its identity or its
    /// lane is held.
    public func release(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.release, to: id) }

    /// Discards a job: it becomes done without being sent. A running job cannot be discarded. When its caller cancels,
    /// a job runs for a moment longer. Once it is ready again, a replayer may claim it before it is discarded.
    public func discard(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.discard, to: id) }

    /// Makes a job that is dead or in review ready again. The job keeps its position in the order of its key, and its
    /// `Idempotency-Key`. Its count of attempts and its ``ReplayPolicy/expiry`` start again. If the request may have
    /// been processed, the caller takes responsibility for sending it again. Neither an edit nor a request with the
    /// same unique name changes such a request, because the server may know it.
    ///
    /// - Throws: ``ReplayError``: `notUnique` if another job has taken the unique name meanwhile.
    public func redrive(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.redrive, to: id) }

    func apply(_ action: ReplayAction, to id: ReplayJob.ID) async throws(ReplayError) {
        let effects = try await storage.apply(action, to: [id], isDryRun: false)
        if let error = effects.first?.error(of: action, on: id) { throw error }
    }

    /// Changes the request of a job. If the old request may have been processed, the server would take the change for a
    /// repetition. Then the new request is added as another job, and the old job stays as it is.
    ///
    /// - Parameters:
    ///   - id: the id of the job.
    ///   - change: changes the stored request. The identity, lane, ordering key, order and unique name have to stay the
    ///     same, because they decide the job's holds, claims and position.
    /// - Returns: the id of the job that has the new request.
    /// - Throws: ``ReplayError``: `wrongState` if the job is done or being sent, or was changed since the edit began;
    ///   `badRequest` if the change alters a part that has to stay; `notUnique` if another job would have to be added,
    ///   and a job with its unique name waits.
    @concurrent
    public func edit(
        _ id: ReplayJob.ID,
        _ change: @Sendable (inout Request) -> Void
    ) async throws(ReplayError) -> ReplayJob.ID {
        guard let old = try request(of: id) else { throw .noJob(id) }
        var request = old
        change(&request)
        return try await edit(id, from: old, to: request)
    }

    /// Replaces the request of a job, as ``edit(_:_:)`` does.
    ///
    /// - Parameter old: the request at the start of the edit.
    @concurrent
    package func edit(
        _ id: ReplayJob.ID,
        from old: Request,
        to new: Request
    ) async throws(ReplayError) -> ReplayJob.ID {
        var request = new
        try Self.refuseMove(of: id, from: old, to: request)
        let oldKey = old.headers[.idempotencyKey]
        // A server would answer the new request with the response to the old one if both had the same key. Without a
        // key, the new request gets one of its own.
        if request.headers[.idempotencyKey] == oldKey { request.headers[.idempotencyKey] = nil }
        let draft = try ReplayDraft(request, rules: rules, freshKey: UUID().uuidString)
        return try await storage.edit(
            ReplayEdit(id: id, draft: draft, maximumCount: maximumCount, old: old, rules: rules))
    }

    private static func refuseMove(
        of id: ReplayJob.ID, from old: Request, to new: Request
    ) throws(ReplayError) {
        let changes = [
            ("identity", !old.identity.isExactly(new.identity)), ("lane", old.lane != new.lane),
            ("ordering key", !old.replay.orderingKey.isExactly(new.replay.orderingKey)),
            ("order", old.replay.order != new.replay.order),
            ("unique name", !old.replay.unique.isExactly(new.replay.unique)),
        ]
        guard let change = changes.first(where: \.1) else { return }
        let remedy = "do not change it, or discard the job and add another"
        throw ReplayError(.badRequest, "the edit changes the \(change.0) of job \(id): \(remedy)")
    }

    // MARK: Holds

    /// Adds a hold, which applies to existing jobs and to jobs added later. Attempts under way finish. The hold applies
    /// to every process, and after a restart. Engines of other processes apply it a moment later. An engine that began
    /// before its store had a queue applies it from its first use of the queue.
    ///
    /// - Parameters:
    ///   - hold: the hold to add.
    ///   - reason: the reason, for display.
    /// - Returns: the number of jobs that this hold has newly held.
    @concurrent
    @discardableResult
    public func hold(_ hold: ReplayHold, reason: String = "") async throws(ReplayError) -> Int {
        try await apply(hold, reason: reason)
    }

    /// Ends a hold. The end of an identity's hold also releases the jobs that wait for the identity to sign in.
    ///
    /// - Returns: the number of released jobs. Jobs that another hold applies to, or that are themselves held, are not
    ///   counted.
    @concurrent
    @discardableResult
    public func release(_ hold: ReplayHold) async throws(ReplayError) -> Int {
        try await end(hold)
    }
}

extension ReplayEdit {
    /// Returns the reason why the job cannot be edited; `nil` if it can.
    ///
    /// - Parameters:
    ///   - row: the job's row.
    ///   - stored: the job's request as it is stored now.
    public func refusal(of row: ReplayRow, stored: Data) -> ReplayError? {
        guard row.state != .running, row.state != .done else {
            let message = "job \(id) is \(row.state), and can no longer be changed: add another one"
            return ReplayError(.wrongState, message)
        }
        guard (try? Request(json: stored)) == old else {
            return ReplayError(.wrongState, "job \(id) was changed meanwhile: edit it again")
        }
        return nil
    }
}

extension ReplayEffect {
    /// Returns the error for the effect of an action; `nil` if the action succeeded.
    package func error(of action: ReplayAction, on id: ReplayJob.ID) -> ReplayError? {
        switch self {
        case .done: nil
        case .noJob: .noJob(id)
        case .notUnique: .notUnique(id)
        case .damaged: .damaged(id)
        case .wrongState(let state):
            ReplayError(
                .wrongState,
                "job \(id) is \(state): \(action.verb.description) applies to jobs that are \(action.states)")
        }
    }
}

extension ReplayError {
    /// The error for a job that does not exist.
    package static func noJob(_ id: ReplayJob.ID) -> ReplayError {
        ReplayError(.noJob, "there is no job \(id): it may have been deleted after its end, see the list of jobs")
    }

    /// The error for a job whose unique name another job has taken.
    package static func notUnique(_ id: ReplayJob.ID) -> ReplayError {
        ReplayError(.notUnique, "another job has the unique name of job \(id) now: discard one of them")
    }

    /// The error for a job whose stored data is not what was written.
    package static func damaged(_ id: ReplayJob.ID) -> ReplayError {
        ReplayError(
            .wrongState, "job \(id) is damaged on disk, and is not sent: discard it, and add its request again")
    }
}
