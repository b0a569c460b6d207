#if Postgres && canImport(CDiamondPostgres)
import Diamond
import Foundation

/// Jobs that wait for the ids of objects that other jobs create.
extension PostgresJobs {
    func object(_ name: String) throws(PostgresError) -> AwaitedObject {
        let rows = try connection.rows(
            """
            SELECT state, reason, metadata, EXISTS (SELECT FROM answer WHERE answer.job = every_job.id) AS has_answer
            FROM every_job WHERE creates = \(name) AND creates <> '' ORDER BY id
            """)
        var known: JSONValue?
        var object = AwaitedObject.missing
        for index in 0..<rows.count {
            let row = rows[index]
            let state = ReplayState(rawValue: Int(row.int64("state")))
            if state == .done { known = known ?? Self.members(row.text("metadata"))["id"] }
            let reason = ReplayReason(description: row.text("reason"))
            object.addCreator(state, reason, hasAnswer: row.bool("has_answer"))
        }
        return known.map { .known($0) } ?? object
    }

    private static func members(_ metadata: String) -> [String: JSONValue] {
        (try? JSONDecoder().decode([String: JSONValue].self, from: Data(metadata.utf8))) ?? [:]
    }

    private func metadata(of id: Int64) throws(PostgresError) -> [String: JSONValue] {
        let row = try connection.rows("SELECT metadata FROM every_job WHERE id = \(id)").first
        return Self.members(row?.text("metadata") ?? "")
    }

    func names(awaitedBy id: Int64) throws(PostgresError) -> [String] {
        try connection.rows("SELECT name FROM edge WHERE job = \(id) ORDER BY name").map { $0.text("name") }
    }

    /// Returns the jobs that wait for the id of an object, in order.
    private func jobs(awaiting name: String) throws(PostgresError) -> [Int64] {
        try connection.rows("SELECT job FROM edge WHERE name = \(name) ORDER BY job").map { $0.int64("job") }
    }

    // MARK: Adding

    /// Returns the reason why a request must not be added: no job creates an object whose id it needs, or the job of
    /// that object needs an id of this one.
    func refusal(of draft: ReplayDraft) throws(PostgresError) -> ReplayError? {
        let names = draft.awaitedIDs.sorted()
        for name in names where !draft.mayLackObjects {
            if try object(name) == .missing { return .missingObject(name, for: draft) }
        }
        guard let own = draft.createdID, !names.isEmpty, let path = try path(from: names, to: own) else { return nil }
        return .waitsForItself(draft, through: path.map { "\($0.method) \($0.url) (job \($0.id))" })
    }

    private struct Creator {
        var id: Int64
        var method: String
        var url: String
    }

    /// Returns the jobs through which an object waits for another one; `nil` if it does not.
    private func path(from names: [String], to target: String) throws(PostgresError) -> [Creator]? {
        var open: [(name: String, path: [Creator])] = names.map { ($0, []) }
        var seen = Set(names)
        while let (name, path) = open.popLast() {
            if name == target { return path }
            let creators = try connection.rows(
                "SELECT id, method, url FROM every_job WHERE creates = \(name) AND creates <> '' AND state <> 4"
            ).map { Creator(id: $0.int64("id"), method: $0.text("method"), url: $0.text("url")) }
            for creator in creators {
                for next in try self.names(awaitedBy: creator.id) where seen.insert(next).inserted {
                    open.append((next, path + [creator]))
                }
            }
        }
        return nil
    }

    /// Makes a job wait for the ids that it needs. Those that are known are put into its request at once.
    func link(_ policy: ReplayPolicy, to id: Int64) throws(PostgresError) {
        let names = policy.awaits.sorted()
        try connection.run("DELETE FROM edge WHERE job = \(id)")
        try connection.run(
            "INSERT INTO edge (job, name) SELECT \(id), unnest(\(names)) ON CONFLICT DO NOTHING")
        for name in names {
            guard case .known(let value) = try object(name) else { continue }
            try assign(value, to: name)
        }
        try updateReason(of: id)
    }

    private func removeEdge(from id: Int64, to name: String) throws(PostgresError) {
        try connection.run("DELETE FROM edge WHERE job = \(id) AND name = \(name)")
    }

    // MARK: Ids

    /// Puts the id in the answer to a job into the requests that wait for it.
    func assignID(in answer: ReplayAnswer, of row: ReplayRow) throws(PostgresError) {
        guard let request = try request(of: row.id), let (localID, id) = answer.id(createdBy: request),
            localID == row.creates
        else { return }
        try assign(id, to: localID)
    }

    /// Puts the id of an object into the requests that wait for it, and into the metadata of the jobs that have created
    /// it.
    func assign(_ id: JSONValue, to name: String) throws(PostgresError) {
        for table in ["job", "ended"] as [PostgresSQL] {
            let creators = try connection.rows(
                """
                SELECT id, metadata FROM \(table)
                WHERE creates = \(name) AND creates <> '' AND state = 4 AND reason = 'finished' FOR UPDATE
                """)
            for index in 0..<creators.count {
                let creator = creators[index]
                var members = Self.members(creator.text("metadata"))
                members["id"] = id
                try connection.run(
                    "UPDATE \(table) SET metadata = \(Self.text(.object(members))) WHERE id = \(creator.int64("id"))")
                touch(creator.int64("id"))
            }
        }
        for job in try jobs(awaiting: name) {
            guard let stored = try row(job), stored.row.state != .done else { continue }
            var row = stored.row
            guard try rewrite(&row, [name: id], isEnded: stored.isEnded) else { continue }
            try removeEdge(from: job, to: name)
            guard row.awaitsIDs else { continue }
            guard try names(awaitedBy: job).isEmpty else {
                try updateReason(of: job)
                continue
            }
            try row.releaseWithIDs(at: now) { (row) throws(PostgresError) in try holds(on: [row]).cover(row) }
            try save(row, .release, from: .held)
        }
    }

    private static func text(_ value: JSONValue) -> String {
        // Only a number that is not finite has no JSON text, and these come from JSON.
        (try? JSONWriter.text(of: value)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// Puts ids into the request of a job, and into what is shown of it.
    ///
    /// - Returns: whether the request could be read. Otherwise the job is dead, and a newer program that can decode the
    ///   request puts the ids into it when it redrives the job.
    private func rewrite(
        _ row: inout ReplayRow, _ ids: [String: JSONValue], isEnded: Bool
    ) throws(PostgresError) -> Bool {
        let table: PostgresSQL = isEnded ? "ended" : "job"
        var details = ReplayDetails()
        details.url = try connection.rows("SELECT url FROM \(table) WHERE id = \(row.id)").first?.text("url") ?? ""
        guard let old = try request(of: row.id), let request = details.assign(ids, in: old) else {
            if row.awaitsIDs {
                row.enter(.dead, reason: .undecodable)
                try save(row, .fail, from: .held)
            }
            return false
        }
        row.digest = ReplayRow.digest(of: request)
        try connection.run(
            """
            UPDATE \(table) SET url = \(details.url), metadata = \(details.metadata), digest = \(row.digest)
            WHERE id = \(row.id)
            """)
        try connection.run("UPDATE payload SET request = \(request) WHERE job = \(row.id)")
        return true
    }

    // MARK: Failed creations

    /// Sets the reasons of the jobs that wait for objects whose creators have changed.
    func updateReasons(after changes: [Change]) throws(PostgresError) {
        // Claims and retries tell the jobs that wait for the object nothing new.
        let names = changes.filter { $0.verb == .edit || $0.old.isEnd || $0.row.state.isEnd }.map(\.row.creates)
        for name in Set(names).sorted() where !name.isEmpty { try updateReasons(awaiting: name) }
    }

    func updateReasons(awaiting name: String) throws(PostgresError) {
        for id in try jobs(awaiting: name) { try updateReason(of: id) }
    }

    /// Sets the reason of a job that waits for ids. This is no transition of the job itself, but it is reported.
    func updateReason(of id: Int64) throws(PostgresError) {
        guard var row = try row(id)?.row, row.awaitsIDs else { return }
        var reason = ReplayReason.awaitingID
        for name in try names(awaitedBy: id) {
            if try object(name).isLost { reason = .creationFailed }
        }
        guard reason != row.reason else { return }
        row.reason = reason
        try save(row, .hold, from: .held)
    }

    /// Discards the unsent jobs that need the id of an object that will never be created. Those that create objects are
    /// discarded with the jobs that wait for these, and so are the calls of the object itself. The others become dead:
    /// they change objects that exist.
    func discardJobs(awaiting localID: String) throws(PostgresError) {
        for id in try jobs(awaiting: localID) {
            try removeEdge(from: id, to: localID)
            guard var row = try row(id)?.row, row.isHeld, row.state == .held else { continue }
            let own = try metadata(of: id)["localID"]
            if row.creates.isEmpty, own != .string(localID) {
                row.enter(.dead, reason: .creationFailed)
                try save(row, .fail, from: .held)
                continue
            }
            row.enter(.done, reason: .replaced)
            try deleteAnswers(of: [id])
            if !row.creates.isEmpty, case .string(let other)? = own { try discardJobs(awaiting: other) }
            try save(row, .discard, from: .held)
        }
    }
}
#endif
