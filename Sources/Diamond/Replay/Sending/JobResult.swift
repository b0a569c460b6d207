/// The result of one attempt to send a job.
package struct JobResult: Sendable {
    var outcome: ReplayOutcome
    /// The number of exchanges that do not affect the outcome: each was repeated by another one, or failed and was
    /// certainly not processed.
    let ignoredExchanges: Int
    /// The start of the first exchange that may have been processed with an unknown outcome; `nil` for none.
    var unknownSince: QueueTime?
    /// The answer to store with the job; `nil` for none.
    let answer: ReplayAnswer?
    /// Whether a caller waits for the outcome, and gets it even if it ends the job without success.
    var isDelivered = false
    /// Called with the job's new state when it is on disk; `nil` if another owner has the job.
    let notify: @Sendable (ReplayState?) async -> Void

    package init(
        outcome: ReplayOutcome,
        ignoredExchanges: Int = 0,
        unknownSince: QueueTime? = nil,
        answer: ReplayAnswer? = nil,
        notify: @escaping @Sendable (ReplayState?) async -> Void = { _ in }
    ) {
        self.outcome = outcome
        self.ignoredExchanges = ignoredExchanges
        self.unknownSince = unknownSince
        self.answer = answer
        self.notify = notify
    }
}
