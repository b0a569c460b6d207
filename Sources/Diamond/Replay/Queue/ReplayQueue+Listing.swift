import DiamondSQLite
public import Foundation

/// Reading jobs. Every method reads from disk on the calling thread, concurrently with writes.
extension ReplayQueue {
    /// Returns a job in its current state; `nil` if there is none, or it was deleted after its end.
    ///
    /// - Throws: ``ReplayError`` if the file cannot be read.
    public func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.job(id, on: connection) }?
            .shifted(by: lead)
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
        let filter = try timed(filter)
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in
            try ReplayTable.jobs(filter, after: id, limit: limit, on: connection)
        }.map { $0.shifted(by: lead) }
    }

    /// Returns the id of the newest job; 0 if there is none. Jobs added later have higher ids.
    package func lastID() throws(ReplayError) -> ReplayJob.ID {
        try read { (connection) throws(SQLiteError) in try ReplayTable.lastID(on: connection) }
    }

    /// Returns the number of jobs that match a filter.
    public func count(_ filter: ReplayFilter) throws(ReplayError) -> Int {
        let filter = try timed(filter)
        return try read { (connection) throws(SQLiteError) in try ReplayTable.count(filter, on: connection) }
    }

    /// Returns the number of jobs in each state, of all identities. The cost does not depend on the number of jobs.
    public func counts() throws(ReplayError) -> [ReplayState: Int] {
        try read { (connection) throws(SQLiteError) in try ReplayTable.stateCounts(on: connection) }
    }

    /// Returns the request of a job as it is sent, with secrets by name; `nil` if there is no such job.
    ///
    /// - Throws: ``ReplayError``: `badRequest` if the stored request cannot be decoded, or the job is damaged on disk.
    public func request(of id: ReplayJob.ID) throws(ReplayError) -> Request? {
        let (stored, request) = try read { (connection) throws(SQLiteError) -> (ReplayTable.StoredRow?, Data?) in
            let stored = try ReplayTable.storedRow(id, withRequest: true, on: connection)
            guard let stored, !stored.request.isEmpty, stored.damage == nil else { return (stored, nil) }
            return (stored, try connection.opened(request: stored.request, of: id))
        }
        guard let stored, !stored.request.isEmpty else { return nil }
        guard let request else {
            let damage = stored.damage ?? "its request's seal is broken, or needs an older key"
            throw ReplayError(.badRequest, "job \(id) is damaged on disk: \(damage)")
        }
        do throws(RequestError) { return try Request(json: request) } catch { throw ReplayError(error) }
    }

    /// Returns the last failed attempts of a job, the oldest first; 10 at most.
    public func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.failures(of: id, on: connection) }
            .map { $0.shifted(by: lead) }
    }

    /// A hold that is in effect.
    public struct ActiveHold: Hashable, Sendable {
        /// The hold.
        public let hold: ReplayHold
        /// The reason for the hold, for display; empty if none was given.
        public let reason: String
        /// The time at which the hold was added.
        public let since: Date
    }

    /// Returns the holds that are in effect.
    public func holds() throws(ReplayError) -> [ActiveHold] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.holds(on: connection) }
            .map { ActiveHold(hold: $0.hold, reason: $0.reason, since: Date(milliseconds: $0.since + lead)) }
    }

    /// The number of transitions of one kind in one hour.
    package struct HourlyCount: Hashable, Sendable {
        /// The start of the hour.
        package let hour: Date
        /// The name of the ``ReplayTransition/Verb``.
        package let verb: String
        package let count: Int
    }

    /// Returns the count of each verb in each hour since a date, the oldest first. Hours without transitions are left
    /// out. The queue stores the last 9,600 hours, which is 400 days.
    package func history(since date: Date) throws(ReplayError) -> [HourlyCount] {
        let lead = try moment().lead / 3_600_000
        let hour = date.milliseconds / 3_600_000 - lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.hours(since: hour, on: connection) }
            .map { row in
                let start = Date(timeIntervalSince1970: Double(row.hour + lead) * 3600)
                return HourlyCount(hour: start, verb: row.verb, count: row.count)
            }
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
            guard let job = try job(id) else { throw Self.noJob(id) }
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
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in
            var keys: [OrderingKey] = []
            let heads = try ReplayTable.keyHeads(
                limit: limit, onlyBlocked: onlyBlocked, includesSignedOut: includesSignedOut, on: connection)
            for keyHead in heads {
                guard let job = try ReplayTable.job(keyHead.head, on: connection) else { continue }
                keys.append(OrderingKey(head: job.shifted(by: lead), count: keyHead.count))
            }
            return keys
        }
    }

    /// Returns a filter with its times converted to the queue's time.
    func timed(_ filter: ReplayFilter) throws(ReplayError) -> ReplayFilter {
        guard let date = filter.enqueuedBefore else { return filter }
        var timed = filter
        timed.enqueuedBefore = Date(milliseconds: try moment().time(ofWall: date.milliseconds))
        return timed
    }
}

extension ReplayJob {
    /// Returns the job with its times converted to the wall clock.
    ///
    /// - Parameter lead: the lead of the wall clock over the queue's time, in milliseconds.
    func shifted(by lead: Int64) -> ReplayJob { lead == 0 ? self : ReplayJob(self, shiftedBy: Double(lead) / 1000) }

    private init(_ job: ReplayJob, shiftedBy seconds: TimeInterval) {
        id = job.id
        state = job.state
        reason = job.reason
        method = job.method
        url = job.url
        host = job.host
        identity = job.identity
        orderingKey = job.orderingKey
        order = job.order
        isHead = job.isHead
        priority = job.priority
        lane = job.lane
        tags = job.tags
        metadata = job.metadata
        kind = job.kind
        enqueuedAt = job.enqueuedAt + seconds
        changedAt = job.changedAt + seconds
        runAt = job.runAt + seconds
        expiresAt = job.expiresAt.map { $0 + seconds }
        attempts = job.attempts
        attemptLimit = job.attemptLimit
        sentAt = job.sentAt.map { $0 + seconds }
        unknownSince = job.unknownSince.map { $0 + seconds }
        idempotencyKey = job.idempotencyKey
        status = job.status
        token = job.token
        storedCall = job.storedCall
        awaitedJobs = job.awaitedJobs
    }
}

extension ReplayFailure {
    /// Returns the failure with its times converted to the wall clock.
    fileprivate func shifted(by lead: Int64) -> ReplayFailure {
        let seconds = Double(lead) / 1000
        return ReplayFailure(
            number: number, startedAt: startedAt + seconds, endedAt: endedAt + seconds, code: code, message: message)
    }
}
