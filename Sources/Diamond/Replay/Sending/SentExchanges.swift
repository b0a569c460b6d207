/// The exchanges of a request with a replay policy, by the runs in which they began.
///
/// A pause ends a run. The next run may begin before the paused one has returned.
struct SentExchanges: Hashable, Sendable {
    private struct Run: Hashable {
        /// The number of exchanges that began.
        var begun = 0
        /// The number of exchanges that may have been processed with an unknown outcome.
        var unknown = 0
        /// The start of the first of them.
        var unknownSince: QueueTime?
    }

    /// The last exchange that began, and the answer that it has replaced.
    private struct LastBegin: Hashable {
        let run: Int
        let replacedAnswer: ReplayOutcome?
    }

    private var lastRun = 0
    /// The runs in which an exchange has begun.
    private var runs: [Int: Run] = [:]
    /// The server's answer to the last exchange, if its run ended while the body arrived. It decides the job unless
    /// another run follows.
    private(set) var interruptedAnswer: ReplayOutcome?
    private var lastBegin: LastBegin?

    /// Begins a run, and returns its number.
    mutating func beginRun() -> Int {
        lastRun += 1
        return lastRun
    }

    mutating func beginExchange(in run: Int, at now: QueueTime) {
        lastBegin = LastBegin(run: run, replacedAnswer: interruptedAnswer)
        interruptedAnswer = nil
        var changed = runs[run] ?? Run()
        changed.begun += 1
        changed.unknown += 1
        changed.unknownSince = changed.unknownSince ?? now
        runs[run] = changed
    }

    /// Notes that the last exchange of a run was certainly not processed.
    mutating func noteUnprocessed(in run: Int) {
        guard var changed = runs[run], changed.unknown > 0 else { return }
        changed.unknown -= 1
        if changed.unknown == 0 { changed.unknownSince = nil }
        runs[run] = changed
    }

    /// Undoes ``beginExchange(in:at:)``, because the exchange was not sent.
    mutating func undoBegin(in run: Int) {
        noteUnprocessed(in: run)
        runs[run]?.begun -= 1
        if let lastBegin, lastBegin.run == run { interruptedAnswer = interruptedAnswer ?? lastBegin.replacedAnswer }
    }

    mutating func note(interruptedAnswer answer: ReplayOutcome) { interruptedAnswer = answer }

    func hasBegun(in run: Int) -> Bool { (runs[run]?.begun ?? 0) > 0 }

    /// Returns the number of exchanges that may affect the outcome of a run: all of its own, and those of other runs
    /// that may have been processed.
    func count(atEndOf run: Int) -> Int {
        runs.reduce(0) { $0 + ($1.key == run ? $1.value.begun : $1.value.unknown) }
    }

    /// Returns the start of the first exchange that may have been processed with an unknown outcome; `nil` for none.
    ///
    /// - Parameter run: a run to ignore; `nil` for none.
    func unknownSince(ignoring run: Int? = nil) -> QueueTime? {
        runs.lazy.filter { $0.key != run }.compactMap(\.value.unknownSince).min()
    }

    /// Returns the first earlier exchange that may have been processed; `nil` for none. Called before the next exchange
    /// of a run begins.
    ///
    /// - Parameter isHarmless: whether the app guarantees that the request acts once, however often it arrives.
    func earlier(in run: Int, isHarmless: Bool) -> ReplayRow.EarlierExchange? {
        unknownSince().map { sentAt in
            ReplayRow.EarlierExchange(
                sentAt: sentAt, isHarmless: isHarmless, isPaused: unknownSince(ignoring: run) != nil)
        }
    }

    /// Returns the outcome of a run, adjusted to all exchanges that have begun.
    ///
    /// - Parameters:
    ///   - ignored: the number of exchanges of the run that do not affect the outcome
    ///     (``JobResult/ignoredExchanges``).
    ///   - isWanted: whether no caller has ended the run.
    func known(_ outcome: ReplayOutcome, atEndOf run: Int, ignoring ignored: Int, isWanted: Bool) -> ReplayOutcome {
        // If no exchange may have been processed, a failure before the next one is sent leaves nothing unknown.
        if unknownSince() == nil, case .failed(.unknown, let code, let message) = outcome {
            return .failed(.unsent, code: code, message: message)
        }
        return outcome.known(exchanges: count(atEndOf: run) - ignored, isWanted: isWanted)
    }
}
