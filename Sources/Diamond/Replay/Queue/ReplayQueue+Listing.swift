public import Foundation

/// Reading jobs. Every method reads from disk on the calling thread, concurrently with writes.
extension ReplayQueue {
    /// Returns a job in its current state; `nil` if there is none, or it was deleted after its end.
    ///
    /// - Throws: ``ReplayError`` if the file cannot be read.
    public func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? {
        try storage.job(id)
    }

    /// Returns jobs in the order in which they were added.
    ///
    /// - Parameters:
    ///   - filter: the filter of the jobs; by default all match, except those of identities that have signed out.
    ///   - id: the id of the last job of the previous page; 0 for the first page.
    ///   - limit: the maximum number of jobs; 100 by default.
    public func jobs(
        _ filter: ReplayFilter = ReplayFilter(),
        after id: ReplayJob.ID = 0,
        limit: Int = 100
    ) throws(ReplayError) -> [ReplayJob] {
        try storage.jobs(filter, after: id, limit: limit)
    }

    /// Returns the id of the newest job; 0 if there is none. Jobs added later have higher ids.
    package func lastID() throws(ReplayError) -> ReplayJob.ID {
        try storage.lastID()
    }

    /// Returns the number of jobs that match a filter.
    public func count(_ filter: ReplayFilter) throws(ReplayError) -> Int {
        try storage.count(filter)
    }

    /// Returns the number of jobs in each state, of all identities. The cost does not depend on the number of jobs.
    public func counts() throws(ReplayError) -> [ReplayState: Int] {
        try storage.counts()
    }

    /// Returns the request of a job as it is sent, with secrets by name; `nil` if there is no such job.
    ///
    /// - Throws: ``ReplayError``: `badRequest` if the stored request cannot be decoded, or the job is damaged on disk.
    public func request(of id: ReplayJob.ID) throws(ReplayError) -> Request? {
        guard let request = try storage.request(of: id) else { return nil }
        do throws(RequestError) { return try Request(json: request) } catch { throw ReplayError(error) }
    }

    /// Returns the last failed attempts of a job, the oldest first; 10 at most.
    public func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        try storage.failures(of: id)
    }

    /// A hold that is in effect.
    public struct ActiveHold: Hashable, Sendable {
        /// The hold.
        public let hold: ReplayHold
        /// The reason for the hold, for display; empty if none was given.
        public let reason: String
        /// The time at which the hold was added.
        public let since: Date

        /// Creates a hold that is in effect.
        public init(hold: ReplayHold, reason: String, since: Date) {
            self.hold = hold
            self.reason = reason
            self.since = since
        }
    }

    /// Returns the holds that are in effect.
    public func holds() throws(ReplayError) -> [ActiveHold] {
        try storage.holds()
    }

    /// The number of transitions of one kind in one hour.
    package struct HourlyCount: Hashable, Sendable {
        /// The start of the hour.
        package let hour: Date
        /// The name of the ``ReplayTransition/Verb``.
        package let verb: String
        /// The number of transitions.
        package let count: Int

        /// Creates a count.
        package init(hour: Date, verb: String, count: Int) {
            self.hour = hour
            self.verb = verb
            self.count = count
        }
    }

    /// Returns the count of each verb in each hour since a date, the oldest first. Hours without transitions are left
    /// out. The queue stores the last 9,600 hours, which is 400 days.
    package func history(since date: Date) throws(ReplayError) -> [HourlyCount] {
        try storage.inspection.history(since: date)
    }

    /// Waits until a job is done, dead or in review, in this process or another.
    ///
    /// - Throws: ``ReplayError``: `noJob` if there is no such job; `closed` if the waiting task is canceled first.
    @concurrent
    public func end(of id: ReplayJob.ID) async throws(ReplayError) -> ReplayJob {
        let signal = Signal()
        let number = listeners.add { transitions in if transitions.contains(where: { $0.jobID == id }) { signal.wake() }
        }
        defer { listeners.remove(number) }
        while !Task.isCancelled {
            guard let job = try job(id) else { throw .noJob(id) }
            if job.state.isEnd { return job }
            // Other processes do not report to `listeners`, so the job is also polled.
            await signal.wait(within: TimeLimit(.seconds(1), by: clock.sleep))
        }
        throw ReplayError(.closed, "the wait for job \(id) was canceled")
    }

    /// The jobs of an ordering key.
    public struct OrderingKey: Hashable, Sendable {
        /// The job that is sent next, or runs.
        public let head: ReplayJob
        /// The number of jobs that wait for their turn, the head included.
        public let count: Int

        /// Creates the jobs of a key.
        public init(head: ReplayJob, count: Int) {
            self.head = head
            self.count = count
        }
    }

    /// Returns the ordering keys that have jobs, except those whose first job belongs to an identity that has signed
    /// out.
    ///
    /// - Parameter limit: the maximum number of keys; 1,000 by default.
    public func keys(limit: Int = 1000) throws(ReplayError) -> [OrderingKey] {
        try keys(limit: limit, onlyBlocked: false, includesSignedOut: false)
    }

    /// Returns the ordering keys that have jobs.
    ///
    /// - Parameters:
    ///   - onlyBlocked: whether to return only keys whose head is held, dead or in review.
    ///   - includesSignedOut: whether to return keys whose head belongs to an identity that has signed out.
    package func keys(
        limit: Int, onlyBlocked: Bool, includesSignedOut: Bool = true
    ) throws(ReplayError) -> [OrderingKey] {
        try storage.keys(limit: limit, onlyBlocked: onlyBlocked, includesSignedOut: includesSignedOut)
    }
}
