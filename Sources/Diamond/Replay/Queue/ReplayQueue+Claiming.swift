import DiamondSQLite

/// The queue's operations for replayers.
extension ReplayQueue {
    /// Whether a claim may find a job. It only reads, so that an idle replayer writes nothing.
    func mayHaveWork(in lanes: ReplayTable.Lanes) throws(ReplayError) -> Bool {
        guard !owner.isRetired else { return false }
        let now = try moment().time
        return try read { (connection) throws(SQLiteError) in
            if try ReplayTable.hasReady(in: lanes, on: connection) { return true }
            return try ReplayTable.nextTime(on: connection).map { $0 <= now } ?? false
        }
    }

    /// Whether the time of a job has come that no claim has handled yet.
    func mayPromote() throws(ReplayError) -> Bool {
        guard let next = try nextTime(), !owner.isRetired else { return false }
        return try next <= moment().time
    }

    /// Returns the time of the next timed transition, by the queue's time in milliseconds since 1970; `nil` for none.
    func nextTime() throws(ReplayError) -> Int64? {
        try read { (connection) throws(SQLiteError) in try ReplayTable.nextTime(on: connection) }
    }

    /// Makes the jobs ready that wait for the network.
    ///
    /// - Returns: whether any job waited. The check only reads, so that an idle replayer writes nothing.
    func reach() async throws(ReplayError) -> Bool {
        guard try read({ (connection) throws(SQLiteError) in try ReplayTable.hasOffline(on: connection) }) else {
            return false
        }
        var isMore = true
        while isMore {
            isMore = try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.reach(on: connection, &ledger)
            }
        }
        return true
    }

    /// - Parameter tell: receives the states of the jobs that cannot be sent: their time is over, or they need review.
    /// - Returns: the claimed jobs; `nil` if the owner is taken for dead.
    package func claim(
        _ limit: Int,
        of identities: ReplayTable.Identities,
        in lanes: ReplayTable.Lanes = .all,
        by owner: Int64,
        tellingEnds tell: ([ReplayState]) -> Void = { _ in }
    ) async throws(ReplayError) -> [ReplayTable.Claimed]? {
        while true {
            let (claims, ends) = try await writer.write { (connection, ledger) throws(SQLiteError) in
                guard try ReplayTable.isAlive(owner, at: ledger.uptime, on: connection) else {
                    return (nil as (jobs: [ReplayTable.Claimed], isMore: Bool)?, [] as [ReplayState])
                }
                let count = ledger.transitions.count
                let claims = try ReplayTable.claim(
                    limit, of: identities, in: lanes, by: owner, on: connection, &ledger)
                return (claims, ledger.ends(since: count))
            }
            tell(ends)
            guard let claims else { return nil }
            if !claims.isMore { return claims.jobs }
        }
    }

    /// Checks a job for the last time before it is sent.
    ///
    /// - Parameters:
    ///   - cutOff: the earlier exchange that may have been processed, if the job continues after one; `nil` for none.
    ///   - isUnderWay: whether the exchange continues one that was sent, so that no hold ends it.
    func begin(
        _ job: ReplayTable.Claimed,
        behind cutOff: ReplayRow.CutOff? = nil,
        isUnderWay: Bool = false
    ) async -> Bool {
        guard let owner = owner.id else { return false }
        let sent = sentLog
        // What cannot be written down must not leave.
        let hasBegun = await written("job \(job.id) is not sent") { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.begin(
                job.id, token: job.token, by: owner, cutOff: cutOff, isUnderWay: isUnderWay, notedIn: sent,
                on: connection, &ledger)
        }
        // The write may have waited for long.
        return hasBegun ?? false && self.owner.mayBegin
    }

    /// Notes that the sent exchanges of a job were certainly not processed.
    ///
    /// - Parameter isSo: called in the transaction; if it returns `false`, nothing is noted. Another attempt may have
    ///   begun meanwhile.
    func takeBack(_ job: ReplayTable.Claimed, if isSo: @escaping @Sendable () -> Bool) async {
        let sent = sentLog
        await written("job \(job.id) is still taken for sent") { (connection, _) throws(SQLiteError) in
            if isSo() { try ReplayTable.takeBack(job.id, token: job.token, notedIn: sent, on: connection) }
        }
    }

    /// Writes once, and reports a failure.
    ///
    /// - Parameter consequence: the effect of a failure, for display.
    /// - Returns: the result of the body; `nil` if the write fails.
    @discardableResult
    private func written<Value: Sendable>(
        _ consequence: String, _ body: @escaping ReplayWriter.Body<Value>
    ) async -> Value? {
        do throws(ReplayError) { return try await writer.write(body) } catch {
            report(ReplayError(error.code, "\(consequence), because that cannot be noted: \(error.message)"))
            return nil
        }
    }

    /// Writes an outcome. If the disk fails for now, tries again until the outcome is on disk or another owner has the
    /// job. The job's token tells the owner, also after the lease has ended. A closed queue tries only a few times. If
    /// the outcome can never be written, the job stays with this owner until the owner ends.
    ///
    /// - Parameters:
    ///   - answer: the answer to keep with the job, if it ends the job; `nil` for none.
    ///   - unknownAt: the start of the first exchange that may have been processed unseen, whatever the outcome is;
    ///     `nil` for none.
    ///   - tell: receives each error that keeps the outcome from the disk, and `nil` once it is written.
    /// - Returns: the job's new state; `nil` if another owner has it, or its outcome was not written.
    package func finish(
        _ job: ReplayTable.Claimed,
        _ outcome: ReplayOutcome,
        keeping answer: ReplayAnswer? = nil,
        unknownAt: Int64? = nil,
        tellingFailure tell: @Sendable (ReplayError?) -> Void = { _ in }
    ) async -> ReplayState? {
        await owner.outcomes.writing { await finish(job, outcome, answer, unknownAt, tell) }
    }

    private func finish(
        _ job: ReplayTable.Claimed,
        _ outcome: ReplayOutcome,
        _ answer: ReplayAnswer?,
        _ unknownAt: Int64?,
        _ tell: @Sendable (ReplayError?) -> Void
    ) async -> ReplayState? {
        let draw = clock.draw()
        var (tries, triesWhenClosed) = (0, 0)
        while true {
            do throws(ReplayError) {
                let state = try await writer.write { (connection, ledger) throws(SQLiteError) in
                    try ReplayTable.finish(
                        job.id, token: job.token, outcome, keeping: answer, unknownAt: unknownAt, draw: draw,
                        on: connection, &ledger)
                }
                tell(nil)
                return state
            } catch {
                let failure = ReplayError(
                    error.code, "the outcome of job \(job.id) cannot be written: \(error.message)")
                tell(failure)
                report(failure)
                // A newer program has migrated the file: it takes the job over with the lock.
                if error.code == .newerStore {
                    if let id = owner.id { owner.lose(id) }
                    return nil
                }
                if owner.isRetired { triesWhenClosed += 1 }
                guard error.isPassingWhenOpen, triesWhenClosed < 4 else { return nil }
                tries += 1
                await owner.pause(for: .seconds(min(tries, 30)))
            }
        }
    }

    func read<Value>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Value
    ) throws(ReplayError) -> Value {
        do throws(SQLiteError) { return try database.read(body) } catch { throw ReplayError(error) }
    }
}
