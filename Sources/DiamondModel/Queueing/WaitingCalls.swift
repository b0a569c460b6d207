import Diamond
import Foundation

/// The calls in a queue that were not answered, or whose answers were not collected, as last read.
struct WaitingCalls {
    /// A call, with its request.
    struct Call {
        let job: ReplayJob
        let subject: QueuedSubject
        /// The request; `nil` if it is damaged.
        let request: Request?
        /// Whether the context has applied the answer. Its changes are no longer shown.
        var isAnswered = false
    }

    /// An object of a queue: the name of its class (``Model/queueName``), and one of its ids.
    struct Key: Hashable {
        let type: String
        let id: ModelID
    }

    private var calls: [ReplayJob.ID: Call] = [:]
    private var index: [Key: Set<ReplayJob.ID>] = [:]
    private var orderingKeys: [ExactText: Set<ReplayJob.ID>] = [:]

    var isEmpty: Bool { calls.isEmpty }

    subscript(job: ReplayJob.ID) -> Call? { calls[job] }

    /// The calls in the order in which they were added.
    var all: [Call] { calls.values.sorted { $0.job.id < $1.job.id } }

    /// Returns the calls of an object, in the order in which they were added.
    func calls(of type: String, ids: [ModelID]) -> [Call] {
        var found: Set<ReplayJob.ID> = []
        for id in ids { found.formUnion(index[Key(type: type, id: id)] ?? []) }
        return found.sorted().compactMap { calls[$0] }
    }

    /// Returns the calls with an ordering key, in the order in which they were added.
    func calls(at orderingKey: String) -> [Call] {
        (orderingKeys[ExactText(orderingKey)] ?? []).sorted().compactMap { calls[$0] }
    }

    /// Reads the calls of a queue again.
    ///
    /// - Parameters:
    ///   - changed: The jobs that have changed since the last read, as far as they are known.
    ///   - isWhole: Whether to read the other jobs, too.
    /// - Returns: The jobs that are new or have another body, and all that may have changed.
    mutating func read(
        _ queue: ReplayQueue, changed: Set<ReplayJob.ID>, isWhole: Bool
    ) throws(ReplayError) -> (others: Set<ReplayJob.ID>, changed: Set<ReplayJob.ID>) {
        let jobs = isWhole ? try queue.jobsStoringAnswers() : try queue.jobsStoringAnswers(among: changed)
        let waiting = jobs.filter { !$0.isConsumed }.map(\.job)
        let present = Set(waiting.map(\.id))
        let gone = isWhole ? Set(calls.keys).subtracting(present) : changed.subtracting(present)
        let touched = isWhole ? present.union(gone) : changed
        remove(gone)
        var others: Set<ReplayJob.ID> = []
        for job in waiting {
            let old = calls[job.id]
            if let old, old.job == job, !changed.contains(job.id) { continue }
            guard let subject = QueuedSubject(job) else { continue }
            // A damaged request is shown as it was.
            let request = (try? queue.request(of: job.id)) ?? old?.request
            if old == nil || old?.request?.body != request?.body { others.insert(job.id) }
            remove([job.id])
            add(Call(job: job, subject: subject, request: request, isAnswered: old?.isAnswered ?? false))
        }
        return (others, touched)
    }

    private mutating func add(_ call: Call) {
        calls[call.job.id] = call
        for key in call.keys { index[key, default: []].insert(call.job.id) }
        orderingKeys[ExactText(call.job.orderingKey ?? ""), default: []].insert(call.job.id)
    }

    mutating func remove(_ jobs: Set<ReplayJob.ID>) {
        for job in jobs {
            guard let call = calls.removeValue(forKey: job) else { continue }
            for key in call.keys {
                index[key]?.remove(job)
                if index[key]?.isEmpty == true { index[key] = nil }
            }
            let key = ExactText(call.job.orderingKey ?? "")
            orderingKeys[key]?.remove(job)
            if orderingKeys[key]?.isEmpty == true { orderingKeys[key] = nil }
        }
    }

    mutating func noteAnswer(of job: ReplayJob.ID) { calls[job]?.isAnswered = true }

    /// Returns the objects of those calls that differ from an earlier state.
    func keys(of changed: Set<ReplayJob.ID>, changedSince old: WaitingCalls) -> Set<Key> {
        var keys: Set<Key> = []
        for id in changed where old.calls[id]?.job != calls[id]?.job {
            keys.formUnion((calls[id] ?? old.calls[id])?.keys ?? [])
        }
        return keys
    }
}

extension WaitingCalls.Call {
    /// Whether collecting answers has to do something for the call.
    var isCollectable: Bool { job.hasEnded || job.state == .needsReview || job.reason == .creationFailed }

    var keys: [WaitingCalls.Key] { subject.ids.map { WaitingCalls.Key(type: subject.type, id: $0) } }
}

extension [WaitingCalls.Call] {
    /// The state of the object with these calls; `nil` if it has none.
    var state: SaveState? {
        guard let first else { return nil }
        if contains(where: { $0.job.state == .needsReview }) { return .needsReview }
        if contains(where: { $0.job.state == .running }) { return .sending }
        return .waiting(since: first.job.enqueuedAt)
    }

    /// Whether the last call deletes the object.
    var endInDeletion: Bool { last.map { $0.subject.call == .destroy && !$0.isAnswered } ?? false }
}
