import DiamondSQLite
import Foundation

/// Reading jobs, holds and answers.
extension SQLiteReplayStorage {
    /// Reads with the current moment.
    private func read<Value>(
        _ body: (ReplayMoment, borrowing SQLiteConnection) throws(SQLiteError) -> Value
    ) throws(ReplayError) -> Value {
        let moment = try moment()
        return try read { (connection) throws(SQLiteError) in try body(moment, connection) }
    }

    func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? {
        try read { (moment, connection) throws(SQLiteError) in try ReplayTable.job(id, at: moment, on: connection) }
    }

    func jobs(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob] {
        try read { (moment, connection) throws(SQLiteError) in
            try ReplayTable.jobs(filter, after: id, limit: limit, at: moment, on: connection)
        }
    }

    func ids(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob.ID] {
        try read { (moment, connection) throws(SQLiteError) in
            try ReplayTable.ids(filter, after: id, limit: limit, at: moment, on: connection)
        }
    }

    func lastID() throws(ReplayError) -> ReplayJob.ID {
        try read { (connection) throws(SQLiteError) in try ReplayTable.lastID(on: connection) }
    }

    func count(_ filter: ReplayFilter) throws(ReplayError) -> Int {
        try read { (moment, connection) throws(SQLiteError) in
            try ReplayTable.count(filter, at: moment, on: connection)
        }
    }

    func counts() throws(ReplayError) -> [ReplayState: Int] {
        try read { (connection) throws(SQLiteError) in try ReplayTable.stateCounts(on: connection) }
    }

    func request(of id: ReplayJob.ID) throws(ReplayError) -> Data? {
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
        return request
    }

    func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        try read { (moment, connection) throws(SQLiteError) in
            try ReplayTable.failures(of: id, at: moment, on: connection)
        }
    }

    func holds() throws(ReplayError) -> [ReplayQueue.ActiveHold] {
        try read { (moment, connection) throws(SQLiteError) in
            try ReplayTable.holds(on: connection).map {
                ReplayQueue.ActiveHold(hold: $0.hold, reason: $0.reason, since: moment.date(of: $0.since))
            }
        }
    }

    func history(since date: Date) throws(ReplayError) -> [ReplayQueue.HourlyCount] {
        let lead = try moment().lead / 3_600_000
        let hour = WallTime(date).hour - lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.hours(since: hour, on: connection) }
            .map { row in
                let start = Date(timeIntervalSince1970: Double(row.hour + lead) * 3600)
                return ReplayQueue.HourlyCount(hour: start, verb: row.verb, count: row.count)
            }
    }

    func keys(
        limit: Int, onlyBlocked: Bool, includesSignedOut: Bool
    ) throws(ReplayError) -> [ReplayQueue.OrderingKey] {
        try read { (moment, connection) throws(SQLiteError) in
            var keys: [ReplayQueue.OrderingKey] = []
            let heads = try ReplayTable.keyHeads(
                limit: limit, onlyBlocked: onlyBlocked, includesSignedOut: includesSignedOut, on: connection)
            for keyHead in heads {
                guard let job = try ReplayTable.job(keyHead.head, at: moment, on: connection) else { continue }
                keys.append(ReplayQueue.OrderingKey(head: job, count: keyHead.count))
            }
            return keys
        }
    }

    func changed(since time: QueueTime) throws(ReplayError) -> [ReplayJob] {
        try read { (moment, connection) throws(SQLiteError) in
            try ReplayTable.changed(since: time, at: moment, on: connection)
        }
    }

    func waiting(limit: Int, of identities: ReplaySelection.Identities) throws(ReplayError) -> [ReplayJob] {
        try read { (moment, connection) throws(SQLiteError) in
            try ReplayTable.waiting(limit: limit, of: identities, at: moment, on: connection)
        }
    }

    func unsentCount(besides owner: ReplayOwnerRecord.ID?) throws(ReplayError) -> Int {
        let (time, uptime) = (try moment().time, clock.uptime())
        return try read { (connection) throws(SQLiteError) in
            try ReplayTable.unsentCount(at: time, uptime: uptime, besides: owner, on: connection)
        }
    }

    // MARK: Answers

    func jobsStoringAnswers(
        among ids: Set<ReplayJob.ID>?
    ) throws(ReplayError) -> [(job: ReplayJob, isConsumed: Bool)] {
        try read { (moment, connection) throws(SQLiteError) in
            guard let ids else { return try ReplayTable.jobsStoringAnswers(at: moment, on: connection) }
            var jobs: [(job: ReplayJob, isConsumed: Bool)] = []
            for id in ids { jobs += try ReplayTable.jobsStoringAnswers(id, at: moment, on: connection) }
            return jobs
        }
    }

    func answer(to id: ReplayJob.ID) throws(ReplayError) -> ReplayStoredAnswer? {
        try read { (connection) throws(SQLiteError) in try ReplayTable.answer(of: id, on: connection) }
    }

    func consumeAnswers(
        of ids: [ReplayJob.ID], retaining retained: Set<ReplayJob.ID>
    ) async throws(ReplayError) {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            for id in ids {
                ledger.touch(id)
                if retained.contains(id) {
                    try ReplayTable.markConsumed(id, at: ledger.now, on: connection)
                } else {
                    try ReplayTable.deleteAnswer(of: id, on: connection)
                    // An answer without the id of the object that waiting jobs need.
                    guard let row = try ReplayTable.row(id, on: connection), !row.creates.isEmpty else { continue }
                    try ReplayTable.updateReasons(ofJobsAwaiting: row.creates, on: connection, ledger: &ledger)
                }
            }
        }
    }

    func assign(_ id: JSONValue, to localID: String) async throws(ReplayError) {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.assign(id, to: localID, on: connection, ledger: &ledger)
        }
    }

    func discardJobs(awaiting localID: String) async throws(ReplayError) {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.discardJobs(awaiting: localID, on: connection, ledger: &ledger)
        }
    }

    func ids(of localIDs: Set<String>) throws(ReplayError) -> [String: JSONValue] {
        try read { (connection) throws(SQLiteError) in
            var ids: [String: JSONValue] = [:]
            for localID in localIDs {
                ids[localID] = try ReplayTable.object(connection.stored(localID, .object), on: connection).id
            }
            return ids
        }
    }
}
