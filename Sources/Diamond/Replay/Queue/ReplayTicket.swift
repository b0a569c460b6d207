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
        var exchanges = 0
        /// When the first of them began; milliseconds since 1970.
        var sentAt: Int64?
        /// The same where that was in a run before: it may have been processed unseen.
        var unknownAt: Int64?
    }

    private let state = Guarded(State())

    deinit {
        let left = state.withLock { $0 }
        guard let queue = left.queue, let job = left.job else { return }
        let mayHaveLeft = left.exchanges > 0 || left.unknownAt != nil
        Task { await Self.settle(job, mayHaveLeft ? .interrupted : .notBegun, unknownAt: left.unknownAt, in: queue) }
    }

    func draft(of request: Request, for queue: ReplayQueue) async throws(ReplayError) -> ReplayDraft {
        if let draft = state.withLock({ $0.draft }) { return draft }
        let draft = try await queue.draft(of: request)
        state.withLock { $0.draft = draft }
        return draft
    }

    /// Makes the draft a job, before its first byte leaves.
    func place(_ draft: ReplayDraft, in queue: ReplayQueue) async throws(ReplayError) -> Place {
        if let job = state.withLock({ $0.job }) { return .claimed(job) }
        let place = try await queue.addClaimed(draft)
        if case .claimed(let job) = place { state.withLock { ($0.queue, $0.job) = (queue, job) } }
        return place
    }

    /// The last look before the request leaves.
    ///
    /// - Parameter now: milliseconds since 1970.
    func begin(_ job: ReplayTable.Claimed, at now: Int64, in queue: ReplayQueue) async -> Bool {
        guard await queue.begin(job) else { return false }
        begin(at: now)
        return true
    }

    /// The request leaves.
    func begin(at now: Int64) {
        state.withLock { state in
            state.exchanges += 1
            state.sentAt = state.sentAt ?? now
        }
    }

    /// A run was ended by whoever waited for it.
    ///
    /// - Parameter count: of its exchanges that surely were not processed.
    func excuse(_ count: Int) { state.withLock { $0.exchanges -= count } }

    /// A run begins. What has left in one before was cut off by a pause.
    func beginRun() { state.withLock { $0.unknownAt = $0.sentAt } }

    /// When something of it may have been processed unseen before this run.
    var unknownAt: Int64? { state.withLock { $0.unknownAt } }

    /// What a failure means, by all the exchanges that have begun, also in runs before.
    ///
    /// - Parameters:
    ///   - repetitions: exchanges that were repetitions of another, not those that a redirect has led to.
    ///   - isWanted: whether nobody has asked for the end.
    func known(_ outcome: ReplayOutcome, repetitions: Int, isWanted: Bool) -> ReplayOutcome {
        outcome.known(exchanges: state.withLock { $0.exchanges } - repetitions, isWanted: isWanted)
    }

    /// Takes note of what came of it.
    ///
    /// - Parameters:
    ///   - repetitions: as of ``known(_:repetitions:isWanted:)``.
    ///   - unknownAt: when something of it may have been processed unseen in this run.
    ///   - isWanted: as of ``known(_:repetitions:isWanted:)``.
    func settle(
        _ job: ReplayTable.Claimed,
        _ outcome: ReplayOutcome,
        repetitions: Int,
        unknownAt: Int64?,
        isWanted: Bool = true,
        in queue: ReplayQueue
    ) async -> ReplayState? {
        state.withLock { $0.job = nil }
        let known = known(outcome, repetitions: repetitions, isWanted: isWanted)
        return await Self.settle(job, known, unknownAt: self.unknownAt ?? unknownAt, in: queue)
    }

    @discardableResult
    private static func settle(
        _ job: ReplayTable.Claimed,
        _ outcome: ReplayOutcome,
        unknownAt: Int64? = nil,
        in queue: ReplayQueue
    ) async -> ReplayState? {
        defer { queue.owner.leave() }
        return await queue.finish(job, outcome, unknownAt: unknownAt)
    }
}

extension ReplayQueue {
    /// Adds a request that this process sends at once, where nothing stands before it; the owner is entered then, and whoever
    /// settles the job leaves it.
    fileprivate func addClaimed(_ draft: ReplayDraft) async throws(ReplayError) -> ReplayTicket.Place {
        let (limit, rules) = (maximumCount, rules)
        let me: Int64
        do throws(ReplayError) { me = try await owner.enter() } catch {
            // A queue that was closed sends nothing, and keeps it all the same.
            guard error.code == .closed else { throw error }
            return .queued(try await add([draft])[0])
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
                    switch try ReplayTable.add(draft, limit: limit, owner: owner, rules: rules, on: connection, &ledger)
                    {
                    case .added(let id):
                        let job = try ReplayTable.claimed(id, by: me, on: connection)
                        return (.success((id, job)), true)
                    case .kept(let id), .replaced(let id): return (.success((id, nil)), true)
                    case .merged: return (.success((nil, nil)), true)
                    case .refused(let error):
                        ledger = before
                        return (.failure(error), false)
                    }
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
