import DiamondSQLite

/// A request that is kept: its draft, made once, and its job while this process sends it.
///
/// Whoever drops it without having settled it gives the job back.
final class ReplayTicket: Sendable {
    /// What has become of a durable request.
    enum Place: Sendable {
        /// This process sends it.
        case claimed(ReplayTable.Claimed)
        /// Others stand before it, or an older one of its unique name; `nil` where nothing has to be sent.
        case queued(ReplayJob.ID?)
    }

    private struct State {
        var draft: ReplayDraft?
        var queue: ReplayQueue?
        var job: ReplayTable.Claimed?
        /// What it is kept as, whoever sends it.
        var jobID: ReplayJob.ID?
        var isCanceled = false
        /// Whether it has to stand in a line before its first attempt; `nil` until somebody has looked.
        var isDurable: Bool?
        /// What makes it a job, or has.
        var placing: Task<Result<Place, ReplayError>, Never>?
        var runs = ReplayRuns()
        /// What the last run was answered, where it was given up over the body of that.
        var answer: ReplayOutcome?
    }

    private let state = Guarded(State())
    /// Called when the draft is on disk as a job.
    private let whenKept: @Sendable () -> Void

    init(whenKept: @escaping @Sendable () -> Void = {}) { self.whenKept = whenKept }

    deinit {
        let left = state.withLock { $0 }
        guard let queue = left.queue, let job = left.job else { return }
        let unknownAt = left.runs.unknownAt()
        let outcome = left.answer ?? (unknownAt == nil ? .notBegun : .interrupted)
        Task { await Self.settle(job, outcome, unknownAt: unknownAt, in: queue) }
    }

    /// Whether nothing has to be asked for ``draft(of:for:)``.
    var isDrafted: Bool { state.withLock { $0.draft != nil } }

    func draft(of request: Request, for queue: ReplayQueue) async throws(ReplayError) -> ReplayDraft {
        if let draft = state.withLock({ $0.draft }) { return draft }
        let draft = try await queue.draft(of: request)
        return state.withLock { state in
            // Of two runs, one of which a pause has given up, both send the same.
            let first = state.draft ?? draft
            state.draft = first
            return first
        }
    }

    /// Whether the draft is a job before its first byte leaves: also where it is kept on failure only, and others of its line
    /// wait. Once for all runs: what one has sent of it no job knows of that another makes.
    func isDurable(_ draft: ReplayDraft, in queue: ReplayQueue) throws(ReplayError) -> Bool {
        if let known = state.withLock({ $0.isDurable }) { return known }
        let isDurable = draft.policy.mode == .durable ? true : try queue.isPreceded(draft)
        return state.withLock { state in
            let first = state.isDurable ?? isDurable
            state.isDurable = first
            return first
        }
    }

    /// Makes the draft a job, before its first byte leaves; once for all runs, also where a pause gives up the one that is at
    /// it.
    func place(_ draft: ReplayDraft, in queue: ReplayQueue) async throws(ReplayError) -> Place {
        let placing = state.withLock { state in
            let placing = state.placing ?? Task { await placed(draft, in: queue) }
            state.placing = placing
            return placing
        }
        return try await placing.value.get()
    }

    private func placed(_ draft: ReplayDraft, in queue: ReplayQueue) async -> Result<Place, ReplayError> {
        do throws(ReplayError) {
            let place = try await queue.addClaimed(draft) { [self] in note($0) }
            if case .claimed(let job) = place { state.withLock { ($0.queue, $0.job) = (queue, job) } }
            whenKept()
            return .success(place)
        } catch {
            state.withLock { ($0.placing, $0.jobID) = (nil, nil) }
            return .failure(error)
        }
    }

    /// Makes the draft a job for later.
    ///
    /// - Returns: as ``ReplayQueue/enqueue(_:after:)`` does.
    func hand(_ draft: ReplayDraft, to queue: ReplayQueue) async throws(ReplayError) -> ReplayJob.ID? {
        do throws(ReplayError) {
            return try await queue.add([draft]) { [self] in note($0[0]) }[0]
        } catch {
            state.withLock { $0.jobID = nil }
            throw error
        }
    }

    /// In the transaction that adds the job, so that whoever cancels is told of it, or finds none: for what has come later
    /// nobody could discard.
    ///
    /// - Returns: whether it is to be added.
    private func note(_ id: ReplayJob.ID?) -> Bool {
        state.withLock { state in
            // A transaction may be done again: who was told of the job finds it.
            guard !state.isCanceled || state.jobID != nil else { return false }
            state.jobID = id
            return true
        }
    }

    /// Nobody waits for it any more.
    ///
    /// - Returns: the job that it is kept as; where there is none, there will be none.
    func cancel() -> ReplayJob.ID? {
        state.withLock { state in
            state.isCanceled = true
            return state.jobID
        }
    }

    /// The job that it is kept as.
    var jobID: ReplayJob.ID? { state.withLock { $0.jobID } }

    // MARK: Runs

    /// A run begins.
    ///
    /// - Returns: its number.
    func beginRun() -> Int { state.withLock { $0.runs.begin() } }

    /// The last look before the request leaves.
    ///
    /// - Parameters:
    ///   - now: by the queue's time; milliseconds since 1970.
    ///   - isHarmless: whether the app answers for it that the request acts once, however often it arrives.
    ///   - isUnderWay: whether it goes on with what has left already, which no hold ends.
    func begin(
        _ job: ReplayTable.Claimed,
        in run: Int,
        at now: Int64,
        isHarmless: Bool,
        isUnderWay: Bool,
        in queue: ReplayQueue
    ) async -> Bool {
        let cutOff = cutOff(in: run, isHarmless: isHarmless)
        // Before it is written down: what a run before takes back of that is none of this one's.
        begin(in: run, at: now)
        guard await queue.begin(job, behind: cutOff, isUnderWay: isUnderWay) else {
            state.withLock { $0.runs.stay(in: run) }
            return false
        }
        return true
    }

    /// What has left before, and may have been processed unseen; `nil` where nothing has.
    ///
    /// - Parameters:
    ///   - run: that is about to send it.
    ///   - isHarmless: whether the app answers for it that the request acts once, however often it arrives.
    func cutOff(in run: Int, isHarmless: Bool) -> ReplayRow.CutOff? {
        state.withLock { state in
            guard let sentAt = state.runs.unknownAt() else { return nil }
            let isPaused = state.runs.unknownAt(besides: run) != nil
            return ReplayRow.CutOff(sentAt: sentAt, isHarmless: isHarmless, isPaused: isPaused)
        }
    }

    /// The request leaves.
    func begin(in run: Int, at now: Int64) {
        state.withLock { state in
            state.answer = nil
            state.runs.leave(in: run, at: now)
        }
    }

    /// What has left last was answered, and its run is given up over the body: where no other run follows, the answer
    /// decides.
    func note(answer: ReplayOutcome) { state.withLock { $0.answer = answer } }

    /// What has left last surely was not processed. Said at once: where a pause ends the run, the next may begin before
    /// that comes to its end.
    func takeBack(in run: Int) { state.withLock { $0.runs.takeBack(in: run) } }

    /// A run is given up, and nothing is written down of it, or it waits for its next attempt: where nothing that has
    /// left may have been processed, whoever finds the job after this process has died need not take it for sent.
    func giveUp(_ job: ReplayTable.Claimed, of run: Int, in queue: ReplayQueue) async {
        // Most are given up in line, and have nothing on disk.
        guard state.withLock({ $0.runs.hasBegun(in: run) && $0.runs.unknownAt() == nil }) else { return }
        await queue.takeBack(job) { [self] in state.withLock { $0.runs.unknownAt() == nil } }
    }

    /// When something of it may have been processed unseen in other runs.
    func unknownAt(besides run: Int) -> Int64? { state.withLock { $0.runs.unknownAt(besides: run) } }

    /// What a failure means, by all the exchanges that have begun, also in other runs.
    ///
    /// - Parameters:
    ///   - run: that has come to its end.
    ///   - settled: how many of its exchanges count no more: those that another has repeated, not those that a redirect
    ///     has led to; where it is only the end, those that surely were not processed.
    ///   - isWanted: whether nobody has asked for the end.
    func known(_ outcome: ReplayOutcome, of run: Int, settled: Int, isWanted: Bool) -> ReplayOutcome {
        let (exchanges, unknownAt) = state.withLock { ($0.runs.exchanges(atEndOf: run), $0.runs.unknownAt()) }
        // What fails before another attempt leaves says nothing of those before, which surely were not processed.
        if unknownAt == nil, case .failed(.unknown, let code, let message) = outcome {
            return .failed(.unsent, code: code, message: message)
        }
        return outcome.known(exchanges: exchanges - settled, isWanted: isWanted)
    }

    /// Takes note of what came of it.
    ///
    /// - Parameters:
    ///   - run: as of ``known(_:of:settled:isWanted:)``.
    ///   - answer: the answer to keep with the job; `nil` for none.
    ///   - settled: the same.
    ///   - unknownAt: when something of it may have been processed unseen in this run.
    ///   - isWanted: as of ``known(_:of:settled:isWanted:)``.
    func settle(
        _ job: ReplayTable.Claimed,
        _ outcome: ReplayOutcome,
        keeping answer: ReplayAnswer? = nil,
        of run: Int,
        settled: Int,
        unknownAt: Int64?,
        isWanted: Bool = true,
        in queue: ReplayQueue
    ) async -> ReplayState? {
        state.withLock { $0.job = nil }
        let known = known(outcome, of: run, settled: settled, isWanted: isWanted)
        return await Self.settle(
            job, known, keeping: answer, unknownAt: self.unknownAt(besides: run) ?? unknownAt, in: queue)
    }

    /// - Returns: the job's new state; `nil` if another owner has it, or its outcome is not on disk yet.
    @discardableResult
    private static func settle(
        _ job: ReplayTable.Claimed,
        _ outcome: ReplayOutcome,
        keeping answer: ReplayAnswer? = nil,
        unknownAt: Int64? = nil,
        in queue: ReplayQueue
    ) async -> ReplayState? {
        let state = await Deadline.value(within: queue.clock.patience) {
            defer { queue.owner.leave() }
            return await queue.finish(job, outcome, keeping: answer, unknownAt: unknownAt)
        }
        return state ?? nil
    }
}

extension ReplayQueue {
    /// Adds a request that this process sends at once, where nothing stands before it; the owner is entered then, and whoever
    /// settles the job leaves it.
    ///
    /// - Parameter isWanted: asked with its id before it stays; where not, nothing is added, or changed.
    fileprivate func addClaimed(
        _ draft: ReplayDraft,
        isWanted: @escaping @Sendable (ReplayJob.ID?) -> Bool
    ) async throws(ReplayError) -> ReplayTicket.Place {
        let (limit, rules) = (maximumCount, rules)
        let me: Int64
        do throws(ReplayError) { me = try await owner.enter() } catch {
            // A queue that was closed sends nothing, and keeps it all the same.
            guard error.code == .closed else { throw error }
            return .queued(try await add([draft]) { isWanted($0[0]) }[0])
        }
        typealias Added = Result<(Int64?, ReplayTable.Claimed?), ReplayError>
        let (result, isAlive): (Added, Bool)
        do throws(ReplayError) {
            (result, isAlive) = try await writer.write { (connection, ledger) throws(SQLiteError) -> (Added, Bool) in
                // What a dead owner claims nobody would ever rescue.
                let isAlive = try ReplayTable.isAlive(me, at: ledger.uptime, on: connection)
                let owner = isAlive ? me : nil
                let before = ledger
                let result = try connection.undoing { (connection) throws(SQLiteError) -> (Added, Bool) in
                    let added: Added
                    switch try ReplayTable.add(draft, limit: limit, owner: owner, rules: rules, on: connection, &ledger)
                    {
                    case .added(let id): added = .success((id, try ReplayTable.claimed(id, by: me, on: connection)))
                    case .kept(let id), .replaced(let id): added = .success((id, nil))
                    case .merged: added = .success((nil, nil))
                    case .refused(let error): added = .failure(error)
                    }
                    if case .success((let id, _)) = added, isWanted(id) { return (added, true) }
                    ledger = before
                    return (added.map { _ in (nil, nil) }, false)
                }
                return (result, isAlive)
            }
        } catch {
            owner.leave()
            throw error
        }
        // The next request is another owner's.
        if !isAlive { owner.lose(me) }
        do throws(ReplayError) {
            let (id, job) = try result.get()
            if let job { return .claimed(job) }
            owner.leave()
            return .queued(id)
        } catch {
            owner.leave()
            throw error
        }
    }
}

extension ReplayOutcome {
    static let interrupted = failed(.interrupted, code: "cancelled", message: "it was canceled when it was under way")
}
