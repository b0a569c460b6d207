import DiamondSQLite

/// One run of a kept request, for a caller that waits for the response or for a replayer: the check before each exchange, and
/// the count of those that began.
package final class JobAttempt: Sendable {
    /// The subject of an attempt.
    enum Subject {
        /// A job that this process has claimed.
        case job(ReplayTable.Claimed)
        /// A request that becomes a job only if it fails.
        case draft(ReplayDraft)
    }

    private struct State {
        var refusal: ReplayOutcome?
        var isRecalled = false
        var task: Task<JobResult, Never>?
    }

    package let request: Request
    private let subject: Subject
    private let queue: ReplayQueue
    private let isReplay: Bool
    /// The exchanges of all runs of the request.
    private let exchanges: Guarded<SentExchanges>
    /// The number of this run.
    private let run: Int
    private let whenBegun: @Sendable () -> Void
    private let state = Guarded(State())

    /// - Parameters:
    ///   - isReplay: whether a replayer makes the attempt. Then it is a single one: an exchange that follows another follows a
    ///     redirect, or has a newer credential.
    ///   - exchanges: shared by all runs of the request.
    ///   - whenBegun: called after it is on disk that an exchange begins, and before its first byte is sent.
    init(
        of subject: Subject,
        _ request: Request,
        isReplay: Bool = false,
        exchanges: Guarded<SentExchanges> = Guarded(SentExchanges()),
        in queue: ReplayQueue,
        whenBegun: @escaping @Sendable () -> Void = {}
    ) {
        self.subject = subject
        self.request = request
        self.isReplay = isReplay
        self.exchanges = exchanges
        self.queue = queue
        self.whenBegun = whenBegun
        run = exchanges.withLock { $0.beginRun() }
    }

    /// The claimed job; `nil` if the request is none yet.
    private var job: ReplayTable.Claimed? { if case .job(let job) = subject { job } else { nil } }

    /// The id of the job; `nil` if the request is none yet.
    package var id: ReplayJob.ID? { job?.id }

    /// Whether the request is a job.
    var isJob: Bool { job != nil }

    // MARK: Exchanges

    /// Notes that an exchange begins: of a job on disk. Called last before its first byte is sent.
    ///
    /// - Parameters:
    ///   - isUnderWay: whether the exchange continues one that was sent, so that no hold ends it.
    ///   - isHarmless: whether the app guarantees that the request acts once, however often it arrives.
    /// - Returns: whether it may begin. A job has to be this process's still, must not be held, and must need no review.
    package func begin(isUnderWay: Bool = false, isHarmless: Bool = false) async -> Bool {
        let hasBegun = exchanges.withLock { $0.hasBegun(in: run) }
        let cutOff = exchanges.withLock { $0.cutOff(in: run, isHarmless: isHarmless) }
        // Before the write: what another run takes back meanwhile is none of this one's.
        guard noteBegin() else { return false }
        let mayBegin =
            switch subject {
            case .job(let job) where isReplay && hasBegun: await queue.begin(job, isUnderWay: true)
            case .job(let job): await queue.begin(job, behind: cutOff, isUnderWay: isUnderWay)
            case .draft(let draft): mayBegin(draft, behind: cutOff)
            }
        guard mayBegin else {
            exchanges.withLock { $0.undoBegin(in: run) }
            return false
        }
        whenBegun()
        return true
    }

    /// - Returns: `false` if the attempt was recalled.
    private func noteBegin() -> Bool {
        state.withLock { state in
            guard !state.isRecalled else { return false }
            exchanges.withLock { $0.beginExchange(in: run, at: queue.now()) }
            return true
        }
    }

    private func mayBegin(_ draft: ReplayDraft, behind cutOff: ReplayRow.CutOff?) -> Bool {
        guard let cutOff, let refusal = draft.refusal(behind: cutOff, at: queue.now()) else { return true }
        refuse(refusal)
        return false
    }

    /// Notes why no exchange may begin.
    func refuse(_ refusal: ReplayOutcome) { state.withLock { $0.refusal = refusal } }

    /// The reason why no exchange may begin; `nil` for none, or if the row of the job has it.
    var refusal: ReplayOutcome? { state.withLock { $0.refusal } }

    /// Notes that the exchange that began last was certainly not processed. At once: the next run may begin before this one has
    /// ended.
    func takeBack() { exchanges.withLock { $0.takeBack(in: run) } }

    /// Notes that nothing is sent until the next attempt.
    func rest() {
        // Nobody waits for the disk: the next attempt is written after it.
        Task { await giveUp() }
    }

    /// Notes on disk that no exchange of the job may have been processed, if that is so. Then the process that rescues
    /// the job after the death of this one need not assume that it was sent.
    ///
    /// - Parameter answer: the server's answer, if its body was not received whole.
    func giveUp(interrupting answer: ReplayOutcome? = nil) async {
        if let answer { exchanges.withLock { $0.note(interruptedAnswer: answer) } }
        // Most attempts are given up before their first exchange, and have written nothing.
        guard let job, exchanges.withLock({ $0.hasBegun(in: run) && $0.unknownAt() == nil }) else { return }
        await queue.takeBack(job) { [exchanges] in exchanges.withLock { $0.unknownAt() == nil } }
    }

    /// Returns the result, considering all exchanges that have begun, also in other runs.
    ///
    /// - Parameter isWanted: whether no caller has asked for the end.
    func known(_ result: JobResult, isWanted: Bool) -> JobResult {
        exchanges.withLock { exchanges in
            var known = result
            known.outcome = exchanges.known(
                result.outcome, atEndOf: run, settled: result.settled, isWanted: isWanted)
            known.unknownAt = exchanges.unknownAt(besides: run) ?? result.unknownAt
            return known
        }
    }

    // MARK: Recalling

    /// Runs `send` in a task that ``recall()`` cancels.
    func run(_ send: @escaping @Sendable (JobAttempt) async -> JobResult) async -> JobResult {
        let task = Task { await send(self) }
        let isRecalled = state.withLock { state in
            state.task = task
            return state.isRecalled
        }
        if isRecalled { task.cancel() }
        // The result of the task may hold the attempt.
        defer { state.withLock { $0.task = nil } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Ends the attempt if no exchange has begun.
    func recall() {
        let task = state.withLock { state -> Task<JobResult, Never>? in
            guard !exchanges.withLock({ $0.hasBegun(in: run) }) else { return nil }
            state.isRecalled = true
            return state.task
        }
        task?.cancel()
    }

    var isRecalled: Bool { state.withLock { $0.isRecalled } }
}
