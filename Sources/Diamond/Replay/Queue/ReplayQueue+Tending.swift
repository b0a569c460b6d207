import DiamondSQLite
import Foundation
import HTTPTypes

/// Doing something to jobs.
extension ReplayQueue {
    /// Sends a job now that waits for its time.
    ///
    /// - Throws: ``ReplayError``: `noJob`, and `wrongState` where it neither waits nor is ready.
    public func retry(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.retry, to: id) }

    /// Sends a job not before it is released.
    public func hold(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.hold, to: id) }

    /// Releases a job that was held by itself, or had no credential. Where its key, its identity or its lane is held it stays
    /// so.
    public func release(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.release, to: id) }

    /// Gives a job up: it is done, without being sent. One that is being sent cannot be. Where its caller has gone away
    /// it is ready a moment later, and a replayer may be quicker.
    public func discard(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.discard, to: id) }

    /// Sends a job again that is dead or in review, with its place in its line and its `Idempotency-Key`; its attempts and
    /// its time (``ReplayPolicy/expiry``) are counted anew. That it may have been processed counts as looked into; its
    /// request is still not changed, by an edit or by one of its unique name, because the server may know it.
    ///
    /// - Throws: ``ReplayError``: `notUnique` where another one has its unique name by now.
    public func redrive(_ id: ReplayJob.ID) async throws(ReplayError) { try await apply(.redrive, to: id) }

    func apply(_ action: JobAction, to id: ReplayJob.ID) async throws(ReplayError) {
        let effect = try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.apply(action, to: id, on: connection, &ledger)
        }
        if let error = Self.error(effect, action, id) { throw error }
    }

    /// Why an action was not done; `nil` if it was.
    static func error(_ effect: ReplayTable.Effect, _ action: JobAction, _ id: ReplayJob.ID) -> ReplayError? {
        switch effect {
        case .done: nil
        case .noJob: noJob(id)
        case .notUnique: notUnique(id)
        case .damaged: damaged(id)
        case .wrongState(let state):
            ReplayError(.wrongState, "job \(id) is \(state): \(action.verb.rawValue) is for what is \(action.states)")
        }
    }

    private static func notUnique(_ id: ReplayJob.ID) -> ReplayError {
        ReplayError(.notUnique, "another job has the unique name of job \(id) by now: discard one of them")
    }

    static func damaged(_ id: ReplayJob.ID) -> ReplayError {
        ReplayError(
            .wrongState, "job \(id) is damaged on disk, and is not sent: discard it, and add its request again")
    }

    static func noJob(_ id: ReplayJob.ID) -> ReplayError {
        ReplayError(.noJob, "there is no job \(id): it may have ended long ago, see the list of jobs")
    }

    /// Puts another request into a job of which nothing was sent; of one that may have been, the server would take the
    /// change for a repetition: then the new request is added as another job, and the old one stays as it is.
    ///
    /// - Parameters:
    ///   - id: of the job.
    ///   - change: gets the request as it is on disk. Identity, lane, ordering key, order and unique name have to stay: by
    ///     them the job is held and claimed, and has its place.
    /// - Returns: the id of the job that has the new request.
    /// - Throws: ``ReplayError``: `wrongState` where the job is done, or being sent, or somebody else has changed it since
    ///   the edit began; `badRequest` for what has to stay; `notUnique` where another job would have to be added, and one
    ///   of its unique name waits.
    @concurrent
    public func edit(
        _ id: ReplayJob.ID,
        _ change: @Sendable (inout Request) -> Void
    ) async throws(ReplayError) -> ReplayJob.ID {
        guard let old = try request(of: id) else { throw Self.noJob(id) }
        var request = old
        change(&request)
        return try await edit(id, from: old, to: request)
    }

    /// - Parameter old: the request with which the edit began.
    @concurrent
    package func edit(
        _ id: ReplayJob.ID,
        from old: Request,
        to new: Request
    ) async throws(ReplayError) -> ReplayJob.ID {
        var request = new
        try Self.refuseMove(of: id, from: old, to: request)
        let key = HTTPField.Name.idempotencyKey
        let oldKey = key.flatMap { old.headers[$0] }
        // Another request under the old key would be answered as the old one; under none, it gets its own.
        if let key, request.headers[key] == oldKey { request.headers[key] = nil }
        let draft = try ReplayDraft(request, rules: rules, freshKey: UUID().uuidString)
        // Its unique name goes over to another job.
        var addition = draft
        addition.policy.uniqueness = .appendAfterRunning
        let (limit, rules, added) = (maximumCount, rules, addition)
        let result = try await writer.write { (connection, ledger) throws(SQLiteError) -> Result<Int64, ReplayError> in
            guard try ReplayTable.written(id, on: connection) != nil else { return .failure(Self.noJob(id)) }
            guard let row = try ReplayTable.sound(id, on: connection, &ledger),
                let written = try ReplayTable.soundRequest(of: row, on: connection, &ledger)
            else { return .failure(Self.damaged(id)) }
            guard row.state != .running, row.state != .done else {
                let message = "job \(id) is \(row.state), and is not changed any more: add another one"
                return .failure(ReplayError(.wrongState, message))
            }
            guard (try? Request(json: written)) == old else {
                return .failure(ReplayError(.wrongState, "job \(id) was changed meanwhile: edit it again"))
            }
            guard !row.mayBeKnown else {
                // Where a newer one has the name, that says what is to be sent.
                if let key = added.uniqueKey, let other = try ReplayTable.named(key, on: connection), other != id {
                    return .failure(Self.notUnique(id))
                }
                switch try ReplayTable.add(added, limit: limit, rules: rules, on: connection, &ledger) {
                case .added(let id), .kept(let id), .replaced(let id): return .success(id)
                case .merged: return .success(id)
                case .refused(let error): return .failure(error)
                }
            }
            var draft = draft
            draft.policy.uniqueness = .preserveSchedule
            try ReplayTable.replace(row, by: draft, on: connection, &ledger)
            return .success(id)
        }
        return try result.get()
    }

    private static func refuseMove(
        of id: ReplayJob.ID, from old: Request, to new: Request
    ) throws(ReplayError) {
        let moves = [
            ("identity", !old.identity.isExactly(new.identity)), ("lane", old.lane != new.lane),
            ("ordering key", !old.replay.orderingKey.isExactly(new.replay.orderingKey)),
            ("order", old.replay.order != new.replay.order),
            ("unique name", !old.replay.unique.isExactly(new.replay.unique)),
        ]
        guard let move = moves.first(where: \.1) else { return }
        let remedy = "leave it as it is, or discard the job and add another"
        throw ReplayError(.badRequest, "the edit changes the \(move.0) of job \(id): \(remedy)")
    }

    // MARK: Holds

    /// Sends nothing of it until it is released: what is there, and what is added. What is being sent comes to its end. It
    /// holds for every process, and after a restart. Other processes' engines keep to it a moment later; an engine that
    /// began before its store had a queue, from its first use of that on.
    ///
    /// - Parameters:
    ///   - hold: what is not to be sent.
    ///   - reason: for people.
    /// - Returns: how many jobs are held by it now that were not before.
    @concurrent
    @discardableResult
    public func hold(_ hold: ReplayHold, reason: String = "") async throws(ReplayError) -> Int {
        try await apply(hold, reason: reason)
    }

    /// Ends a hold. Jobs that have waited for their identity to sign in are released with it.
    ///
    /// - Returns: how many jobs it has released: not those that another hold, or they themselves, hold still.
    @concurrent
    @discardableResult
    public func release(_ hold: ReplayHold) async throws(ReplayError) -> Int {
        let count = try await end(hold)
        // That of the whole changes no job, of which others would be told.
        if hold.isWhole {
            listeners.send([])
            bell.ring()
        }
        return count
    }
}
