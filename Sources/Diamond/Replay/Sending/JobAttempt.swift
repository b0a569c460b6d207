import DiamondSQLite

/// An attempt to send a job or a draft, for a caller that waits for the response or for a replayer. It checks the job
/// before each exchange, and counts the exchanges.
package final class JobAttempt: Sendable {
    /// The subject of an attempt.
    enum Subject {
        /// A job that this process has claimed.
        case job(ReplayClaim)
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
    ///   - isReplay: whether a replayer makes the attempt. Then the request is not retried: a second exchange follows a
    ///     redirect, or has a newer credential.
    ///   - exchanges: the exchanges of all runs of the request.
    ///   - whenBegun: called after the start of an exchange is on disk, and before its first byte is sent.
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

    /// The claimed job; `nil` if the request is no job yet.
    private var job: ReplayClaim? { if case .job(let job) = subject { job } else { nil } }

    /// The id of the job; `nil` if the request is no job yet.
    package var id: ReplayJob.ID? { job?.id }

    /// Whether the request is a job.
    var isJob: Bool { job != nil }

    // MARK: Exchanges

    /// Notes that an exchange begins; for a job, on disk. This is the last step before the first byte is sent.
    ///
    /// - Parameters:
    ///   - isUnderWay: whether the exchange continues one that was sent. Then no hold ends it.
    ///   - isHarmless: whether the app guarantees that the request acts once, however often it arrives.
    /// - Returns: whether the exchange may begin. A job must still belong to this process, must not be held, and must
    ///   need no review.
    package func begin(isUnderWay: Bool = false, isHarmless: Bool = false) async -> Bool {
        let hasBegun = exchanges.withLock { $0.hasBegun(in: run) }
        let earlier = exchanges.withLock { $0.earlier(in: run, isHarmless: isHarmless) }
        // Noted before the write, so that another run that marks its exchanges as unsent meanwhile does not include
        // this one.
        guard noteBegin() else { return false }
        let isAllowed =
            switch subject {
            case .job(let job) where isReplay && hasBegun: await queue.begin(job, isUnderWay: true)
            case .job(let job): await queue.begin(job, after: earlier, isUnderWay: isUnderWay)
            case .draft(let draft): check(draft, after: earlier)
            }
        guard isAllowed else {
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

    /// Checks whether a draft may be sent again. If not, notes the reason.
    private func check(_ draft: ReplayDraft, after earlier: ReplayRow.EarlierExchange?) -> Bool {
        guard let earlier, let refusal = draft.refusal(after: earlier, at: queue.now()) else { return true }
        refuse(refusal)
        return false
    }

    /// Notes the reason why no exchange may begin.
    func refuse(_ refusal: ReplayOutcome) { state.withLock { $0.refusal = refusal } }

    /// The reason why no exchange may begin; `nil` for none, or if it is in the row of the job.
    var refusal: ReplayOutcome? { state.withLock { $0.refusal } }

    /// Notes that the last exchange was certainly not processed. It takes effect at once, because the next run may
    /// begin before this one has ended.
    func noteUnprocessed() { exchanges.withLock { $0.noteUnprocessed(in: run) } }

    /// Notes that nothing is sent until the next attempt.
    func pause() {
        // Not awaited: the write of the next attempt follows this one.
        Task { await markUnsent() }
    }

    /// Notes on disk that no exchange of the job may have been processed, if that is so. Then a process that rescues
    /// the job after this one has died need not assume that it was sent.
    ///
    /// - Parameter answer: the server's answer, if its body was interrupted; `nil` for none.
    func markUnsent(interruptedAnswer answer: ReplayOutcome? = nil) async {
        if let answer { exchanges.withLock { $0.note(interruptedAnswer: answer) } }
        // Most attempts that end early end before their first exchange, and have written nothing.
        guard let job, exchanges.withLock({ $0.hasBegun(in: run) && $0.unknownSince() == nil }) else { return }
        await queue.markUnsent(job) { [exchanges] in exchanges.withLock { $0.unknownSince() == nil } }
    }

    /// Returns the result, adjusted to all exchanges that have begun, in this and other runs.
    ///
    /// - Parameter isWanted: whether no caller has ended the attempt.
    func known(_ result: JobResult, isWanted: Bool) -> JobResult {
        exchanges.withLock { exchanges in
            var known = result
            known.outcome = exchanges.known(
                result.outcome, atEndOf: run, ignoring: result.ignoredExchanges, isWanted: isWanted)
            known.unknownSince = exchanges.unknownSince(ignoring: run) ?? result.unknownSince
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
        // Breaks a reference cycle: the result of the task may retain the attempt.
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
