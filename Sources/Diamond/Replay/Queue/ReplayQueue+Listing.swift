import DiamondSQLite
public import Foundation

/// Reading jobs. Every method reads from disk on the calling thread, concurrently with writes.
extension ReplayQueue {
    /// Returns a job in its current state; `nil` if there is none, or it was forgotten.
    ///
    /// - Throws: ``ReplayError`` if the file cannot be read.
    public func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.job(id, on: connection) }?
            .moved(by: lead)
    }

    /// Returns jobs in the order in which they were added.
    ///
    /// - Parameters:
    ///   - filter: the filter of the jobs; by default all match.
    ///   - id: the id of the last job of the previous page; 0 for the first page.
    ///   - limit: the maximum number of jobs; 100 by default.
    public func jobs(
        _ filter: ReplayFilter = ReplayFilter(),
        after id: ReplayJob.ID = 0,
        limit: Int = 100
    ) throws(ReplayError) -> [ReplayJob] {
        let (filter, lead) = try (timed(filter), moment().lead)
        return try read { (connection) throws(SQLiteError) in
            try ReplayTable.jobs(filter, after: id, limit: limit, on: connection)
        }.map { $0.moved(by: lead) }
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

    /// Returns the number of jobs in each state. The cost does not depend on the number of jobs.
    public func counts() throws(ReplayError) -> [ReplayState: Int] {
        try read { (connection) throws(SQLiteError) in try ReplayTable.census(on: connection) }
    }

    /// Returns the request of a job as it is sent, with secrets by name; `nil` if there is no such job.
    ///
    /// - Throws: ``ReplayError``: `badRequest` if the stored request cannot be decoded, or the job is damaged on disk.
    public func request(of id: ReplayJob.ID) throws(ReplayError) -> Request? {
        let written = try read { (connection) throws(SQLiteError) in
            try ReplayTable.written(id, withRequest: true, on: connection)
        }
        guard let written, !written.request.isEmpty else { return nil }
        if let damage = written.damage { throw ReplayError(.badRequest, "job \(id) is damaged on disk: \(damage)") }
        do throws(RequestError) { return try Request(json: written.request) } catch { throw ReplayError(error) }
    }

    /// Returns the last failed attempts of a job, the oldest first; 10 at most.
    public func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.failures(of: id, on: connection) }
            .map { $0.moved(by: lead) }
    }

    /// Returns the holds, each with its reason and its start.
    public func holds() throws(ReplayError) -> [(hold: ReplayHold, reason: String, since: Date)] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.holds(on: connection) }
            .map { ($0.0, $0.1, Date(milliseconds: $0.2 + lead)) }
    }

    /// Returns the count of each verb in each hour since a date, the oldest first. Hours without transitions are left
    /// out. The queue keeps the last 9,600 hours, which is 400 days.
    public func history(since date: Date) throws(ReplayError) -> [(hour: Date, verb: String, count: Int)] {
        let lead = try moment().lead / 3_600_000
        let hour = date.milliseconds / 3_600_000 - lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.hours(since: hour, on: connection) }
            .map { (Date(timeIntervalSince1970: Double($0.hour + lead) * 3600), $0.verb, $0.count) }
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
            // Of what other processes do nobody tells.
            await signal.wait(for: .seconds(1), by: clock.sleep)
        }
        throw ReplayError(.closed, "the wait for job \(id) was canceled")
    }

    /// Returns the head and the number of jobs of each ordering key that has jobs.
    ///
    /// - Parameter limit: the maximum number of keys; 1,000 by default.
    public func keys(limit: Int = 1000) throws(ReplayError) -> [(head: ReplayJob, count: Int)] {
        try keys(limit: limit, areBlocked: false)
    }

    /// - Parameter areBlocked: whether only keys are returned whose head is held, dead or in review.
    package func keys(limit: Int, areBlocked: Bool) throws(ReplayError) -> [(head: ReplayJob, count: Int)] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in
            var keys: [(ReplayJob, Int)] = []
            for line in try ReplayTable.lines(limit: limit, areBlocked: areBlocked, on: connection) {
                guard let job = try ReplayTable.job(line.head, on: connection) else { continue }
                keys.append((job.moved(by: lead), line.count))
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
    /// With its times as the wall clock has them.
    ///
    /// - Parameter lead: by how much that is ahead of the queue's time; milliseconds.
    func moved(by lead: Int64) -> ReplayJob {
        guard lead != 0 else { return self }
        let seconds = Double(lead) / 1000
        var job = self
        job.enqueuedAt += seconds
        job.changedAt += seconds
        job.runAt += seconds
        job.expiresAt = expiresAt.map { $0 + seconds }
        job.sentAt = sentAt.map { $0 + seconds }
        job.unknownSince = unknownSince.map { $0 + seconds }
        return job
    }
}

extension ReplayFailure {
    /// With its times as the wall clock has them.
    fileprivate func moved(by lead: Int64) -> ReplayFailure {
        guard lead != 0 else { return self }
        var failure = self
        failure.startedAt += Double(lead) / 1000
        failure.endedAt += Double(lead) / 1000
        return failure
    }
}
