import DiamondSQLite
public import Foundation

/// Looking at jobs. All of it reads from disk on the calling thread, beside what is written.
extension ReplayQueue {
    /// A job as it is now; `nil` where there is none, or it was forgotten.
    ///
    /// - Throws: ``ReplayError`` where the file cannot be read.
    public func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.job(id, on: connection) }?
            .moved(by: lead)
    }

    /// Jobs in the order in which they were added.
    ///
    /// - Parameters:
    ///   - filter: which ones; all by default.
    ///   - id: of the last one of the page before; 0 for the first page.
    ///   - limit: at most; 100.
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

    /// That of the newest job there is; what is added later has a higher one. 0 where there is none.
    package func lastID() throws(ReplayError) -> ReplayJob.ID {
        try read { (connection) throws(SQLiteError) in try ReplayTable.lastID(on: connection) }
    }

    /// How many jobs are meant.
    public func count(_ filter: ReplayFilter) throws(ReplayError) -> Int {
        let filter = try timed(filter)
        return try read { (connection) throws(SQLiteError) in try ReplayTable.count(filter, on: connection) }
    }

    /// How many jobs are in each state. Costs the same however many there are.
    public func counts() throws(ReplayError) -> [ReplayState: Int] {
        try read { (connection) throws(SQLiteError) in try ReplayTable.census(on: connection) }
    }

    /// The request of a job as it is sent, secrets by name; `nil` where there is no such job.
    ///
    /// - Throws: ``ReplayError``: `badRequest` where what is on disk cannot be read, or is not what was written.
    public func request(of id: ReplayJob.ID) throws(ReplayError) -> Request? {
        let written = try read { (connection) throws(SQLiteError) in
            try ReplayTable.written(id, withRequest: true, on: connection)
        }
        guard let written, !written.request.isEmpty else { return nil }
        if let damage = written.damage { throw ReplayError(.badRequest, "job \(id) is damaged on disk: \(damage)") }
        do throws(RequestError) { return try Request(json: written.request) } catch { throw ReplayError(error) }
    }

    /// The last attempts that came to nothing, the oldest first; 10 at most.
    public func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.failures(of: id, on: connection) }
            .map { $0.moved(by: lead) }
    }

    /// What is held, and since when.
    public func holds() throws(ReplayError) -> [(hold: ReplayHold, reason: String, since: Date)] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.holds(on: connection) }
            .map { ($0.0, $0.1, Date(milliseconds: $0.2 + lead)) }
    }

    /// How often each verb was used in each hour since then, the oldest first; hours in which nothing happened are left out.
    /// The last 9,600 are kept, as many as 400 days have.
    public func history(since date: Date) throws(ReplayError) -> [(hour: Date, verb: String, count: Int)] {
        let lead = try moment().lead / 3_600_000
        let hour = date.milliseconds / 3_600_000 - lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.hours(since: hour, on: connection) }
            .map { (Date(timeIntervalSince1970: Double($0.hour + lead) * 3600), $0.verb, $0.count) }
    }

    /// Waits until a job has come to its end, in this process or another: until it is done, dead or in review.
    ///
    /// - Throws: ``ReplayError``: `noJob`; `closed` when the waiting task is canceled before.
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

    /// The ordering keys that have jobs: who is first, and how many there are.
    ///
    /// - Parameter limit: at most; 1,000.
    public func keys(limit: Int = 1000) throws(ReplayError) -> [(head: ReplayJob, count: Int)] {
        try keys(limit: limit, areBlocked: false)
    }

    /// - Parameter areBlocked: whether only those are meant that go on when somebody does something.
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

    /// A filter whose times are the queue's.
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
