/// The exchanges of a kept request, by the runs in which they began.
///
/// A pause ends a run. The next one may begin before the paused one has returned.
struct SentExchanges: Hashable, Sendable {
    private struct Run: Hashable {
        /// All exchanges that began.
        var begun = 0
        /// The exchanges of the run that may have been processed, as far as is known.
        var open = 0
        /// The start of the first open exchange, in milliseconds since 1970.
        var openSince: Int64?
    }

    private var lastRun = 0
    /// Runs in which an exchange has begun.
    private var runs: [Int: Run] = [:]
    /// The server's answer to the last exchange, if its run was given up while the body arrived. It decides the job
    /// unless another run follows.
    private(set) var interruptedAnswer: ReplayOutcome?

    /// Begins a run, and returns its number.
    mutating func beginRun() -> Int {
        lastRun += 1
        return lastRun
    }

    mutating func beginExchange(in run: Int, at now: Int64) {
        interruptedAnswer = nil
        var changed = runs[run] ?? Run()
        changed.begun += 1
        changed.open += 1
        changed.openSince = changed.openSince ?? now
        runs[run] = changed
    }

    /// Notes that the exchange that began last was certainly not processed.
    mutating func takeBack(in run: Int) {
        guard var changed = runs[run], changed.open > 0 else { return }
        changed.open -= 1
        if changed.open == 0 { changed.openSince = nil }
        runs[run] = changed
    }

    /// Notes that the exchange that was about to begin has not.
    mutating func undoBegin(in run: Int) {
        takeBack(in: run)
        runs[run]?.begun -= 1
    }

    mutating func note(interruptedAnswer answer: ReplayOutcome) { interruptedAnswer = answer }

    func hasBegun(in run: Int) -> Bool { (runs[run]?.begun ?? 0) > 0 }

    /// The number of exchanges that the end of a run may depend on: all of its own, and the open ones of other runs.
    func count(atEndOf run: Int) -> Int {
        runs.reduce(0) { $0 + ($1.key == run ? $1.value.begun : $1.value.open) }
    }

    /// Returns the start of the first exchange that may have been processed, its response unseen; `nil` for none.
    ///
    /// - Parameter run: a run that is left out; `nil` for none.
    func unknownAt(besides run: Int? = nil) -> Int64? {
        runs.lazy.filter { $0.key != run }.compactMap(\.value.openSince).min()
    }

    /// Returns the exchange that may have been processed before the next exchange of a run; `nil` for none.
    ///
    /// - Parameter isHarmless: whether the app guarantees that the request acts once, however often it arrives.
    func cutOff(in run: Int, isHarmless: Bool) -> ReplayRow.CutOff? {
        unknownAt().map { sentAt in
            ReplayRow.CutOff(sentAt: sentAt, isHarmless: isHarmless, isPaused: unknownAt(besides: run) != nil)
        }
    }

    /// Returns the outcome of a run, considering all exchanges that have begun.
    ///
    /// - Parameters:
    ///   - settled: the number of exchanges of the run that the outcome does not depend on (``JobResult/settled``).
    ///   - isWanted: whether no caller has asked for the end.
    func known(_ outcome: ReplayOutcome, atEndOf run: Int, settled: Int, isWanted: Bool) -> ReplayOutcome {
        // A failure before an attempt is sent says nothing of those before, which were certainly not processed.
        if unknownAt() == nil, case .failed(.unknown, let code, let message) = outcome {
            return .failed(.unsent, code: code, message: message)
        }
        return outcome.known(exchanges: count(atEndOf: run) - settled, isWanted: isWanted)
    }
}
