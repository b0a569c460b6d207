import DiamondSQLite

/// The queue's operations for replayers.
extension ReplayQueue {
    /// Whether a claim may find a job. Only reads, so that an idle replayer writes nothing.
    func mayHaveWork(in lanes: ReplaySelection.Lanes) throws(ReplayError) -> Bool {
        guard !owner.isRetired else { return false }
        let now = try moment().time
        return try read { (connection) throws(SQLiteError) in
            if try ReplayTable.hasReady(in: lanes, on: connection) { return true }
            return try ReplayTable.nextTime(on: connection).map { $0 <= now } ?? false
        }
    }

    /// Whether a job has reached its time, and no claim has handled it yet.
    func hasTimedWork() throws(ReplayError) -> Bool {
        guard let next = try nextTime(), !owner.isRetired else { return false }
        return try next <= moment().time
    }

    /// Returns the time of the next timed transition; `nil` for none.
    func nextTime() throws(ReplayError) -> QueueTime? {
        try read { (connection) throws(SQLiteError) in try ReplayTable.nextTime(on: connection) }
    }

    /// Makes the jobs that wait for the network ready.
    ///
    /// - Returns: whether any job waited. If none does, nothing is written.
    func retryOffline() async throws(ReplayError) -> Bool {
        guard try read({ (connection) throws(SQLiteError) in try ReplayTable.hasOffline(on: connection) }) else {
            return false
        }
        var isMore = true
        while isMore {
            isMore = try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.retryOffline(on: connection, ledger: &ledger)
            }
        }
        return true
    }

    /// Makes jobs ready before the end of their backoff. If there are none, nothing is written.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    func retryEarly(_ retry: ReplayEarlyRetry) async throws(ReplayError) -> Bool {
        let start = try moment().time
        let first = try read { (connection) throws(SQLiteError) in
            try ReplayTable.early(retry, limit: 1, at: start, on: connection)
        }
        var isMore = !first.isEmpty
        while isMore {
            isMore = try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.retryEarly(retry, since: start, on: connection, ledger: &ledger)
            }
        }
        return !first.isEmpty
    }

    /// Claims up to `limit` jobs that may be sent now.
    ///
    /// - Parameter report: receives the states of the jobs that cannot be sent: they have expired, or need review.
    /// - Returns: the claimed jobs; `nil` if another process has declared the owner dead.
    package func claim(
        _ limit: Int,
        of identities: ReplaySelection.Identities,
        in lanes: ReplaySelection.Lanes = .all,
        by owner: Int64,
        reportingEnds report: ([ReplayState]) -> Void = { _ in }
    ) async throws(ReplayError) -> [ReplayClaim]? {
        while true {
            let (claims, ends) = try await writer.write { (connection, ledger) throws(SQLiteError) in
                guard try ReplayTable.isAlive(owner, at: ledger.uptime, on: connection) else {
                    return (nil as ReplayClaims?, [] as [ReplayState])
                }
                let count = ledger.transitions.count
                let claims = try ReplayTable.claim(
                    limit, of: identities, in: lanes, by: owner, on: connection, ledger: &ledger)
                return (claims, ledger.ends(since: count))
            }
            report(ends)
            guard let claims else { return nil }
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
        guard let owner = owner.id else { return false }
        let sent = sentLog
        answerLog.reserve()
        // A job is not sent if its start cannot be written.
        let hasBegun = await writeOnce("job \(job.id) is not sent") { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.begin(
                job.id, token: job.token, by: owner, ReplayStart(after: earlier, isUnderWay: isUnderWay), log: sent,
                on: connection, ledger: &ledger)
        }
        // The write may have taken so long that the lease is about to end.
        return hasBegun ?? false && self.owner.mayBegin
    }

    /// Notes that the sent exchanges of a job were certainly not processed.
    ///
    /// - Parameter isUnsent: called in the transaction. If it returns `false`, because another attempt has begun
    ///   meanwhile, nothing is written.
    func markUnsent(_ job: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool) async {
        let sent = sentLog
        await writeOnce("job \(job.id) still counts as sent") { (connection, _) throws(SQLiteError) in
            if isUnsent() { try ReplayTable.markUnsent(job.id, token: job.token, log: sent, on: connection) }
        }
    }

    /// Writes without retries, and reports a failure.
    ///
    /// - Parameter consequence: the effect of a failure, for display.
    /// - Returns: the result of the body; `nil` if the write fails.
    @discardableResult
    private func writeOnce<Value: Sendable>(
        _ consequence: String, body: @escaping ReplayWriter.Body<Value>
    ) async -> Value? {
        do throws(ReplayError) { return try await writer.write(body) } catch {
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
        await owner.outcomes.writing {
            await writeOutcome(
                of: job, outcome: outcome, answer: answer, unknownSince: unknownSince, reportingFailure: report,
                isDelivered: isDelivered)
        }
    }

    private func writeOutcome(
        of job: ReplayClaim,
        outcome: ReplayOutcome,
        answer: ReplayAnswer?,
        unknownSince: QueueTime?,
        reportingFailure reportFailure: @Sendable (ReplayError?) -> Void,
        isDelivered: @escaping @Sendable () -> Bool
    ) async -> ReplayState? {
        let draw = clock.draw()
        var tries = 0
        var triesWhenClosed = 0
        while true {
            do throws(ReplayError) {
                let state = try await writer.write { (connection, ledger) throws(SQLiteError) in
                    try ReplayTable.finish(
                        job.id, token: job.token,
                        ReplayReport(
                            outcome, answer: answer, unknownSince: unknownSince, draw: draw, isDelivered: isDelivered),
                        on: connection, ledger: &ledger)
                }
                reportFailure(nil)
                return state
            } catch {
                let failure = ReplayError(
                    error.code, "the outcome of job \(job.id) cannot be written: \(error.message)")
                reportFailure(failure)
                report(failure)
                if tries == 0, error.isTransientWhenOpen { note(outcome, with: answer, of: job) }
                if owner.isRetired { triesWhenClosed += 1 }
                guard mayWriteLater(after: error), triesWhenClosed < 4 else { return nil }
                tries += 1
                await owner.pause(for: .seconds(min(tries, 30)))
            }
        }
    }

    /// Whether an outcome may be written later. If another program has taken over the file, the owner is dropped.
    private func mayWriteLater(after error: ReplayError) -> Bool {
        // A newer program has migrated the file, or a program with a seal has sealed it. It rescues the job once this
        // owner is dropped.
        guard error.code != .newerStore, !isLocked(error) else {
            if let id = owner.id { owner.dropOwner(id) }
            return false
        }
        return error.isTransientWhenOpen
    }

    /// Whether another program has sealed the queue, which this one has opened without a seal.
    private func isLocked(_ error: ReplayError) -> Bool {
        guard error.code == .cannotSeal else { return false }
        do throws(SQLiteError) { try database.read(ReplayTable.refuseIfSealed) } catch {
            return error.code == .cannotSeal
        }
        return false
    }

    /// Records the answer of a job outside of the database, in case this process ends before it has written the
    /// outcome.
    private func note(_ outcome: ReplayOutcome, with answer: ReplayAnswer?, of job: ReplayClaim) {
        guard let status = outcome.finalStatus else { return }
        // Also if another program has sealed the queue meanwhile: without a content, the record has only numbers.
        let row = try? database.read { (connection) throws(SQLiteError) in
            try ReplayTable.row(job.id, on: connection)
        }
        guard let row, row.token == job.token else { return }
        let content = try? database.read { (connection) throws(SQLiteError) in
            try connection.logged(answer, of: job.id)
        }
        answerLog.note(status, content: content, of: row)
    }

    func read<Value>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Value
    ) throws(ReplayError) -> Value {
        do throws(SQLiteError) {
            return try database.read { (connection) throws(SQLiteError) in
                try ReplayTable.refuseIfSealed(on: connection)
                return try body(connection)
            }
        } catch {
            throw ReplayError(error)
        }
    }
}
