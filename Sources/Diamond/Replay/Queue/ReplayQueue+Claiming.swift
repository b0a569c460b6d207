/// The queue's operations for replayers.
extension ReplayQueue {
    /// Whether a claim may find a job. Only reads, so that an idle replayer writes nothing.
    func mayHaveWork(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool {
        guard !owner.isRetired else { return false }
        return try await storage.hasReady(in: lanes) ? true : hasTimedWork()
    }

    /// Whether a job has reached its time, and no claim has handled it yet.
    func hasTimedWork() async throws(ReplayError) -> Bool {
        guard let next = try await storage.nextTime(), !owner.isRetired else { return false }
        return try next <= moment().time
    }

    /// Claims up to `limit` jobs that may be sent now.
    ///
    /// - Parameter report: receives the states of the jobs that cannot be sent: they have expired, or need review.
    /// - Returns: the claimed jobs; `nil` if another process has declared the owner dead.
    package func claim(
        _ limit: Int,
        of identities: ReplaySelection.Identities,
        in lanes: ReplaySelection.Lanes = .all,
        by owner: ReplayOwnerRecord.ID,
        reportingEnds report: ([ReplayState]) -> Void = { _ in }
    ) async throws(ReplayError) -> [ReplayClaim]? {
        let selection = ReplaySelection(identities, in: lanes)
        while true {
            guard let claims = try await storage.claim(limit, selection, by: owner) else { return nil }
            report(claims.ends)
            if !claims.isMore { return claims.jobs }
        }
    }

    /// Checks a job for the last time before it is sent.
    ///
    /// - Parameters:
    ///   - earlier: the earlier exchange that may have been processed, if the job continues after one; `nil` for none.
    ///   - isUnderWay: whether the exchange continues one that was sent. Then no hold ends it.
    /// - Returns: whether the job may be sent.
    func begin(
        _ job: ReplayClaim,
        after earlier: ReplayRow.EarlierExchange? = nil,
        isUnderWay: Bool = false
    ) async -> Bool {
        guard let me = owner.id else { return false }
        // A job is not sent if its start cannot be written.
        let hasBegun = await reporting("job \(job.id) is not sent") { () async throws(ReplayError) in
            try await storage.begin(job, ReplayStart(after: earlier, isUnderWay: isUnderWay), by: me)
        }
        // The write may have taken so long that the lease is about to end.
        return hasBegun ?? false && owner.mayBegin
    }

    /// Notes that the sent exchanges of a job were certainly not processed.
    ///
    /// - Parameter isUnsent: called in the transaction. If it returns `false`, because another attempt has begun
    ///   meanwhile, nothing is written.
    func markUnsent(_ job: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool) async {
        _ = await reporting("job \(job.id) still counts as sent") { () async throws(ReplayError) in
            try await storage.cancelBegin(job, if: isUnsent)
        }
    }

    /// Writes without retries, and reports a failure.
    ///
    /// - Parameter consequence: the effect of a failure, for display.
    /// - Returns: the result of the body; `nil` if the write fails.
    private func reporting<Value>(
        _ consequence: String, body: () async throws(ReplayError) -> Value
    ) async -> Value? {
        do throws(ReplayError) { return try await body() } catch {
            report(ReplayError(error.code, "\(consequence), because its state cannot be written: \(error.message)"))
            return nil
        }
    }

    /// Writes the outcome of a job.
    ///
    /// If the disk fails for now, tries again until the outcome is on disk or another owner has the job. The job's
    /// token shows whether another owner has it, even after the lease has ended. A closed queue tries only a few times.
    /// If the outcome can never be written, the job stays with this owner until the owner ends.
    ///
    /// - Parameters:
    ///   - answer: the answer to store with the job, if it ends the job; `nil` for none.
    ///   - unknownSince: the start of the first exchange that may have been processed with an unknown outcome; `nil` for
    ///     none.
    ///   - report: receives each error that keeps the outcome from the disk, and `nil` once it is written.
    ///   - isDelivered: returns whether a caller gets the outcome, even if it ends the job without success.
    /// - Returns: the job's new state; `nil` if another owner has it, or its outcome was not written.
    package func finish(
        _ job: ReplayClaim,
        outcome: ReplayOutcome,
        answer: ReplayAnswer? = nil,
        unknownSince: QueueTime? = nil,
        reportingFailure report: @Sendable (ReplayError?) -> Void = { _ in },
        isDelivered: @escaping @Sendable () -> Bool = { false }
    ) async -> ReplayState? {
        let result = ReplayReport(
            outcome, answer: answer, unknownSince: unknownSince, draw: clock.draw(), isDelivered: isDelivered)
        return await owner.outcomes.writing { await write(result, of: job, reportingFailure: report) }
    }

    private func write(
        _ result: ReplayReport, of job: ReplayClaim, reportingFailure reportFailure: @Sendable (ReplayError?) -> Void
    ) async -> ReplayState? {
        var tries = 0
        var triesWhenClosed = 0
        while true {
            do throws(ReplayError) {
                let state = try await storage.finish(job, result)
                reportFailure(nil)
                return state
            } catch {
                let failure = ReplayError(
                    error.code, "the outcome of job \(job.id) cannot be written: \(error.message)")
                reportFailure(failure)
                report(failure)
                if owner.isRetired { triesWhenClosed += 1 }
                guard mayWriteLater(after: error), triesWhenClosed < 4 else { return nil }
                tries += 1
                await owner.pause(for: .seconds(min(tries, 30)))
            }
        }
    }

    /// Whether an outcome may be written later. If another program has taken over the storage, the owner is dropped.
    private func mayWriteLater(after error: ReplayError) -> Bool {
        guard !storage.isLost(after: error) else {
            if let id = owner.id { owner.dropOwner(id) }
            return false
        }
        return error.isTransientWhenOpen
    }
}
