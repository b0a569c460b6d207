import DiamondSQLite

/// What replayers do with the queue.
extension ReplayQueue {
    /// Whether a claim may bring something: asked of a reader, so that who is idle writes nothing.
    func mayHaveWork(in lanes: ReplayTable.Lanes) throws(ReplayError) -> Bool {
        guard !owner.isRetired else { return false }
        let now = try moment().time
        return try read { (connection) throws(SQLiteError) in
            if try ReplayTable.hasReady(in: lanes, on: connection) { return true }
            return try ReplayTable.nextTime(on: connection).map { $0 <= now } ?? false
        }
    }

    /// Whether somebody's time has come that a claim has not got to.
    func mayPromote() throws(ReplayError) -> Bool {
        guard let next = try nextTime(), !owner.isRetired else { return false }
        return try next <= moment().time
    }

    /// When something happens by itself next, by the queue's time in milliseconds since 1970; `nil` for never.
    func nextTime() throws(ReplayError) -> Int64? {
        try read { (connection) throws(SQLiteError) in try ReplayTable.nextTime(on: connection) }
    }

    /// Makes ready what waits for the network.
    ///
    /// - Returns: whether anything did: asked of a reader, so that who is idle writes nothing.
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

    /// - Parameter tell: what has become of those that are found not to be sent: their time is over, or a person has to
    ///   look at them.
    /// - Returns: `nil` where the owner is taken for dead.
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

    /// The last look before a job is sent.
    ///
    /// - Parameters:
    ///   - cutOff: what has left of it before, where it goes on.
    ///   - isUnderWay: whether it goes on with what has left already, which no hold ends.
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

    /// Takes note that what was sent of a job surely was not processed.
    ///
    /// - Parameter isSo: asked when nothing else is written: another attempt may have begun meanwhile.
    func takeBack(_ job: ReplayTable.Claimed, if isSo: @escaping @Sendable () -> Bool) async {
        let sent = sentLog
        await written("job \(job.id) is still taken for sent") { (connection, _) throws(SQLiteError) in
            if isSo() { try ReplayTable.takeBack(job.id, token: job.token, notedIn: sent, on: connection) }
        }
    }

    /// Writes what is not tried again, and reports where that fails.
    ///
    /// - Parameter consequence: what a failure means, for people.
    /// - Returns: `nil` where it fails.
    @discardableResult
    private func written<Value: Sendable>(
        _ consequence: String, _ body: @escaping ReplayWriter.Body<Value>
    ) async -> Value? {
        do throws(ReplayError) { return try await writer.write(body) } catch {
            report(ReplayError(error.code, "\(consequence), because that cannot be noted: \(error.message)"))
            return nil
        }
    }

    /// Takes note of an outcome; where the disk fails for now, again until it is on disk or the job is somebody else's: the
    /// job's token tells, also where the lease has ended meanwhile. A queue that is closed waits for the disk a few times
    /// only. If the outcome can never be written, the job stays with this owner until that ends.
    ///
    /// - Parameters:
    ///   - answer: the answer to keep with the job, where it ends it; `nil` for none.
    ///   - unknownAt: when something of it may have been processed unseen, whatever the outcome is.
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
