#if Tools
import Diamond
import Foundation

/// The jobs of a queue, by what stays when an archive is imported. They tell which jobs the queue has already.
///
/// Two jobs are the same if they have one `Idempotency-Key`. Without a key, they are the same if their requests are
/// equal, and they expire within the same minute: clocks differ.
struct ImportedJobs {
    private static let tolerance: TimeInterval = 60

    private var keys: Set<String> = []
    /// The times of expiry of the jobs without a key.
    private var expiries: [Request: [Date]] = [:]

    init(in queue: ReplayQueue) throws(ReplayError) {
        var last: ReplayJob.ID = 0
        while true {
            let page = try queue.jobs(ReplayFilter(includesSignedOut: true), after: last, limit: 1000)
            guard let end = page.last else { return }
            for job in page { try add(job, of: queue) }
            last = end.id
        }
    }

    private mutating func add(_ job: ReplayJob, of queue: ReplayQueue) throws(ReplayError) {
        if let key = job.idempotencyKey { return _ = keys.insert(key) }
        do throws(ReplayError) {
            guard let request = try queue.request(of: job.id) else { return }
            expiries[request, default: []].append(job.expiresAt ?? .distantFuture)
        } catch {
            // A damaged job is the same as none.
            guard error.code == .badRequest else { throw error }
        }
    }

    /// Returns the jobs that the queue does not have. Of several that are the same, it may have some.
    func missing(among copies: [ReplayCopy]) -> [ReplayCopy] {
        var expiries = expiries
        return copies.filter { copy in
            if let key = copy.request.headers[.idempotencyKey] { return !keys.contains(key) }
            let expiry = copy.expiresAt ?? .distantFuture
            let number = expiries[copy.request]?.firstIndex { abs($0.timeIntervalSince(expiry)) < Self.tolerance }
            if let number { expiries[copy.request]?.remove(at: number) }
            return number == nil
        }
    }
}
#endif
