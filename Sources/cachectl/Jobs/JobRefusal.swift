#if Tools
import Diamond

/// A job that an action does not apply to: why, and what to do.
struct JobRefusal {
    let id: ReplayJob.ID
    let message: String

    var form: JSONObject { ["id": id, "reason": message] }

    /// - Parameter options: The options that select the queue for another command, each after a space.
    init(
        _ refusal: ReplayRefusal, of action: ReplayAction, queue: ReplayQueue,
        options: String
    ) throws(ReplayError) {
        id = refusal.id
        let job = refusal.error.code == .wrongState ? try queue.job(refusal.id) : nil
        let advice = try job.flatMap { (job) throws(ReplayError) in
            try Self.advice(on: job, action: action, queue: queue, options: options)
        }
        message = refusal.error.message + (advice.map { "; \($0)" } ?? "")
    }

    private static func advice(
        on job: ReplayJob, action: ReplayAction, queue: ReplayQueue, options: String
    ) throws(ReplayError) -> String? {
        let command = "cachectl queue"
        let rest = "\(job.id)\(options)"
        switch (action, job.state) {
        case (.retry, .dead), (.retry, .needsReview):
            let failure = try queue.failures(of: job.id).last.map { ", the last attempt by \($0.code)" } ?? ""
            return "it ended by \(job.reason)\(failure): '\(command) redrive \(rest)' sends it again"
        case (.retry, .held): return try hold(on: job, queue: queue, options: options)
        case (.redrive, .waiting): return "'\(command) retry \(rest)' sends it now"
        case (.retry, .done), (.redrive, .done):
            return "'\(command) resend \(rest)' adds its request as a new job"
        default: return nil
        }
    }

    /// Returns what holds a job, and what ends the hold.
    private static func hold(
        on job: ReplayJob, queue: ReplayQueue, options: String
    ) throws(ReplayError) -> String {
        let awaited = job.awaitedJobs.map { "job \($0)" }.joined(separator: ", ")
        switch job.reason {
        case .awaitingID: return "it waits for the id that \(awaited) creates"
        case .creationFailed: return "it needs the id that \(awaited) should have created: edit or discard it"
        case .unauthorized: return "it waits until its identity signs in"
        default: break
        }
        let holds = try queue.holds().filter { $0.hold.covers(job) }
        guard let first = holds.first else {
            return "'cachectl queue release \(job.id)\(options)' ends its hold"
        }
        return HoldForm(first).note(options: options)
    }
}

extension ReplayHold {
    fileprivate func covers(_ job: ReplayJob) -> Bool {
        let holds: [ReplayHold?] = [
            job.orderingKey.map { .key($0) }, job.identity.map { .identity($0) }, .lane(Lane(job.lane)),
        ]
        return holds.contains(self)
    }
}
#endif
