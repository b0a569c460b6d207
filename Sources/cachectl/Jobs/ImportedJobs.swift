#if Tools
import Crypto
import Diamond
import Foundation

/// The jobs of a queue that the copies of an archive may be. They tell which copies the queue has already.
///
/// Two jobs are the same if they have one method, URL, identity and `Idempotency-Key`. Without a key, they are the same
/// if their requests are equal, and they expire within the same minute: clocks differ. Of requests, only digests are
/// kept.
struct ImportedJobs {
    private static let tolerance: TimeInterval = 60

    private let copies: [(copy: ReplayCopy, subject: Subject?)]
    /// The subjects with a key that the queue has.
    private var known: Set<Subject> = []
    /// The times of expiry of the jobs without a key, by the digests of their requests.
    private var expiries: [SHA256.Digest: [Date]] = [:]

    init(like copies: [ReplayCopy], in queue: ReplayQueue) throws(ReplayError) {
        self.copies = copies.map { ($0, Subject($0.request)) }
        let subjects = Set(self.copies.compactMap(\.subject))
        var last: ReplayJob.ID = 0
        while true {
            let page = try queue.jobs(ReplayFilter(includesSignedOut: true), after: last, limit: 1000)
            guard let end = page.last else { return }
            for job in page where subjects.contains(Subject(job)) { try add(job, of: queue) }
            last = end.id
        }
    }

    private mutating func add(_ job: ReplayJob, of queue: ReplayQueue) throws(ReplayError) {
        guard job.idempotencyKey == nil else { return _ = known.insert(Subject(job)) }
        do throws(ReplayError) {
            guard let digest = try queue.request(of: job.id).flatMap(Self.digest(of:)) else { return }
            expiries[digest, default: []].append(job.expiresAt ?? .distantFuture)
        } catch {
            // A damaged job is the same as none.
            guard error.code == .badRequest else { throw error }
        }
    }

    /// Returns the jobs that the queue does not have. Of several that are the same, it may have some.
    func missing() -> [ReplayCopy] {
        var expiries = expiries
        return copies.compactMap { copy, subject in
            // The queue refuses a request without a subject, and says why.
            guard let subject else { return copy }
            guard subject.key == nil else { return known.contains(subject) ? nil : copy }
            guard let digest = Self.digest(of: copy.request) else { return copy }
            let expiry = copy.expiresAt ?? .distantFuture
            let number = expiries[digest]?.firstIndex { abs($0.timeIntervalSince(expiry)) < Self.tolerance }
            if let number { expiries[digest]?.remove(at: number) }
            return number == nil ? copy : nil
        }
    }

    /// Returns the digest that equal requests have; `nil` for a request that cannot be stored.
    private static func digest(of request: Request) -> SHA256.Digest? {
        (try? request.json()).map { SHA256.hash(data: $0) }
    }
}

/// The values that a queue lists of a job, and that tell most jobs apart.
private struct Subject: Hashable {
    let method: String
    let url: String
    /// Bytes, because texts with different bytes can be equal.
    let identity: [UInt8]?
    let key: [UInt8]?

    init(_ job: ReplayJob) {
        method = job.method
        url = job.url
        identity = job.identity.map { Array($0.utf8) }
        key = job.idempotencyKey.map { Array($0.utf8) }
    }

    /// Returns `nil` for a request that no queue accepts.
    init?(_ request: Request) {
        guard let draft = try? ReplayDraft(request) else { return nil }
        method = draft.method
        url = draft.url
        identity = draft.identity.map { Array($0.utf8) }
        key = request.headers[.idempotencyKey].map { Array($0.utf8) }
    }
}
#endif
