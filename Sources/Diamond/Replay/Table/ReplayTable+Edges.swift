import DiamondSQLite
import Foundation

/// Jobs that wait for the ids of objects that other jobs create.
extension ReplayTable {
    /// Returns the knowledge about an object.
    ///
    /// - Parameter name: the local id of the object as it is in its column.
    static func object(_ name: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> AwaitedObject {
        let statement = try connection.statement(
            """
            SELECT id, state, reason, EXISTS (SELECT 1 FROM answer WHERE answer.job = job.id) FROM job
            WHERE creates = \(name) AND creates <> ''
            """
        )
        var done: [Int64] = []
        var object = AwaitedObject.missing
        while try statement.step() {
            let state = ReplayState(rawValue: Int(statement.int64(1)))
            if state == .done { done.append(statement.int64(0)) }
            let reason = ReplayReason(description: statement.text(2))
            object.addCreator(state, reason, hasAnswer: statement.int64(3) != 0)
        }
        for id in done {
            if let value = try metadata(of: id, on: connection)["id"] { return .known(value) }
        }
        return object
    }

    static func metadata(
        of id: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [String: JSONValue] {
        let text = try details(of: id, on: connection)?.metadata ?? ""
        guard case .object(let members)? = try? JSONValue.read(Array(text.utf8)) else { return [:] }
        return members
    }

    static func names(awaitedBy id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError)
        -> [String]
    {
        try connection.rows("SELECT name FROM edge WHERE job = \(id) ORDER BY name") { $0.text(0) }
    }

    /// Returns the jobs that wait for the id of an object, in order.
    static func jobs(awaiting name: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> [Int64] {
        try connection.integers("SELECT job FROM edge WHERE name = \(name) ORDER BY job")
    }

    // MARK: Adding

    /// Returns the reason why a request must not be added: no job creates an object whose id it needs, or the job of
    /// that object needs an id of this one.
    static func refusal(
        of draft: ReplayDraft, at moment: ReplayMoment, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayError? {
        let names = draft.policy.awaits.sorted()
        for name in names where !draft.mayLackObjects {
            guard try object(connection.stored(name, .object), on: connection) == .missing else { continue }
            return .missingObject(name, for: draft)
        }
        guard let own = draft.policy.creates?.localID, !names.isEmpty else { return nil }
        var stored: [String] = []
        for name in names { stored.append(connection.stored(name, .object)) }
        guard let path = try path(from: stored, to: connection.stored(own, .object), on: connection) else { return nil }
        var steps: [String] = []
        for id in path {
            guard let job = try job(id, at: moment, on: connection) else { continue }
            steps.append("\(job.method) \(job.url) (job \(id))")
        }
        return .waitsForItself(draft, through: steps)
    }

    /// Returns the jobs through which an object waits for another one; `nil` if it does not.
    private static func path(
        from names: [String], to target: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [Int64]? {
        var open: [(name: String, path: [Int64])] = names.map { ($0, []) }
        var seen = Set(names)
        while let (name, path) = open.popLast() {
            if name == target { return path }
            let creators = try connection.integers(
                "SELECT id FROM job WHERE creates = \(name) AND creates <> '' AND state <> 4")
            for id in creators {
                for next in try Self.names(awaitedBy: id, on: connection) where seen.insert(next).inserted {
                    open.append((next, path + [id]))
                }
            }
        }
        return nil
    }

    /// Makes a job wait for the ids that it needs. Those that are known are put into its request at once.
    static func link(
        _ policy: ReplayPolicy, to id: Int64, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        try connection.run("DELETE FROM edge WHERE job = \(id)")
        for name in policy.awaits.sorted() {
            try addEdge(from: id, to: connection.stored(name, .object), on: connection)
        }
        for name in policy.awaits.sorted() {
            guard case .known(let value) = try object(connection.stored(name, .object), on: connection) else {
                continue
            }
            try assign(value, to: name, on: connection, ledger: &ledger)
        }
        try updateReason(of: id, on: connection, ledger: &ledger)
    }

    static func addEdge(
        from id: Int64, to name: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run("INSERT INTO edge (job, name) VALUES (\(id), \(name)) ON CONFLICT DO NOTHING")
    }

    private static func removeEdge(
        from id: Int64, to name: String, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run("DELETE FROM edge WHERE job = \(id) AND name = \(name)")
    }

    // MARK: Ids

    /// Puts the id in the answer to a job into the requests that wait for it.
    static func assignID(
        in answer: ReplayAnswer, of row: ReplayRow, on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let stored = try storedRequest(of: row.id, on: connection)
        guard let request = try connection.opened(request: stored, of: row.id),
            let (localID, id) = answer.id(createdBy: request), connection.stored(localID, .object) == row.creates
        else { return }
        try assign(id, to: localID, on: connection, ledger: &ledger)
    }

    /// Puts the id of an object into the requests that wait for it, and into the metadata of the jobs that have created
    /// it.
    static func assign(
        _ id: JSONValue, to localID: String, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let name = connection.stored(localID, .object)
        let ids = [localID: id]
        let creators = try connection.integers(
            "SELECT id FROM job WHERE creates = \(name) AND creates <> '' AND state = 4 AND reason = 'finished'")
        for creator in creators {
            try note(id, inMetadataOf: creator, on: connection)
            ledger.touch(creator)
        }
        for job in try jobs(awaiting: name, on: connection) {
            guard var row = try checkedRow(job, on: connection, ledger: &ledger), row.state != .done,
                try rewrite(&row, ids, on: connection, ledger: &ledger)
            else { continue }
            try removeEdge(from: job, to: name, on: connection)
            guard row.awaitsIDs else { continue }
            guard try names(awaitedBy: job, on: connection).isEmpty else {
                try updateReason(of: job, on: connection, ledger: &ledger)
                continue
            }
            try row.releaseWithIDs(at: ledger.now) { (row) throws(SQLiteError) in try isHeld(row, on: connection) }
            try save(row, verb: .release, from: .held, on: connection, ledger: &ledger)
        }
    }

    private static func note(
        _ id: JSONValue, inMetadataOf creator: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        var members = try metadata(of: creator, on: connection)
        members["id"] = id
        guard var details = try details(of: creator, on: connection) else { return }
        details.metadata = text(.object(members))
        let stored = try StoredDetails(details, uniqueKey: nil, request: Data(), of: creator, on: connection)
        try connection.run(
            "UPDATE job SET metadata = \(stored.columns.metadata), details = \(stored.sealed) WHERE id = \(creator)")
    }

    /// Puts ids into the request of a job, and into what is shown of it.
    ///
    /// - Returns: whether the request could be read. Otherwise the job is in review now, or dead. A newer program that
    ///   can decode the request puts the ids into it when it redrives the job.
    private static func rewrite(
        _ row: inout ReplayRow, _ ids: [String: JSONValue], on connection: borrowing SQLiteConnection,
        ledger: inout ReplayLedger
    ) throws(SQLiteError) -> Bool {
        guard let old = try checkedRequest(of: row, on: connection, ledger: &ledger) else { return false }
        guard var details = try details(of: row.id, on: connection), let request = details.assign(ids, in: old) else {
            if row.awaitsIDs {
                row.enter(.dead, reason: .undecodable)
                try save(row, verb: .fail, from: .held, on: connection, ledger: &ledger)
            }
            return false
        }
        let stored = try StoredDetails(details, uniqueKey: nil, request: request, of: row.id, on: connection)
        row.digest = ReplayRow.digest(of: stored.request)
        try connection.run(
            """
            UPDATE job SET url = \(stored.columns.url), metadata = \(stored.columns.metadata),
                details = \(stored.sealed), digest = \(row.digest), checksum = \(row.checksum)
            WHERE id = \(row.id)
            """
        )
        try connection.run("UPDATE payload SET request = \(stored.request) WHERE job = \(row.id)")
        return true
    }

    // MARK: Failed creations

    /// Sets the reasons of the jobs that wait for the id of an object.
    static func updateReasons(
        ofJobsAwaiting name: String, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        for id in try jobs(awaiting: name, on: connection) {
            try updateReason(of: id, on: connection, ledger: &ledger)
        }
    }

    /// Sets the reason of a job that waits for ids. This is no transition of the job itself, but it is reported.
    static func updateReason(
        of id: Int64, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        guard var row = try row(id, on: connection), row.awaitsIDs else { return }
        var reason = ReplayReason.awaitingID
        for name in try names(awaitedBy: id, on: connection) {
            if try object(name, on: connection).isLost { reason = .creationFailed }
        }
        guard reason != row.reason else { return }
        row.reason = reason
        try save(row, verb: .hold, from: .held, on: connection, ledger: &ledger)
    }

    /// Discards the unsent jobs that need the id of an object that will never be created. Those that create objects are
    /// discarded with the jobs that wait for these, and so are the calls of the object itself. The others become dead:
    /// they change objects that exist.
    static func discardJobs(
        awaiting localID: String, on connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
    ) throws(SQLiteError) {
        let name = connection.stored(localID, .object)
        for id in try jobs(awaiting: name, on: connection) {
            try removeEdge(from: id, to: name, on: connection)
            guard var row = try checkedRow(id, on: connection, ledger: &ledger), row.isHeld, row.state == .held else {
                continue
            }
            let own = try metadata(of: id, on: connection)["localID"]
            if row.creates.isEmpty, own != .string(localID) {
                row.enter(.dead, reason: .creationFailed)
                try save(row, verb: .fail, from: .held, on: connection, ledger: &ledger)
                continue
            }
            row.enter(.done, reason: .replaced)
            try deleteAnswer(of: id, on: connection)
            if !row.creates.isEmpty, case .string(let other)? = own {
                try discardJobs(awaiting: other, on: connection, ledger: &ledger)
            }
            try save(row, verb: .discard, from: .held, on: connection, ledger: &ledger)
        }
    }
}
