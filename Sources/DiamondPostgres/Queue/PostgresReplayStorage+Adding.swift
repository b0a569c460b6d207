#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite
import Foundation

/// Adding and editing jobs.
extension PostgresReplayStorage {
    package func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        let result: Result<ReplayEnqueued, ReplayError>
        do throws(PostgresError) {
            if isWanted == nil, entry.owner == nil, entry.ids == nil, entry.drafts.allSatisfy(\.isPlain) {
                result = try await entries.call(entry) { [self] (entries) throws(PostgresError) in
                    let isCounted = mustCount(entries)
                    let (results, count) = try await write { (jobs) throws(PostgresError) in
                        (try Self.add(entries, to: jobs, isCounted: isCounted), jobs.openCount)
                    }
                    if let count { openCount.withLock { $0 = (.now, count) } }
                    return results
                }
            } else {
                result = try await addEach(entry, isWanted: isWanted)
            }
        } catch {
            throw ReplayError(error)
        }
        return try result.get()
    }

    /// Adds jobs one by one, or none.
    private func addEach(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(PostgresError) -> Result<ReplayEnqueued, ReplayError> {
        let mark = -Int64.random(in: 1 ..< .max)
        do throws(PostgresError) { return try await addEach(entry, isWanted: isWanted, mark: mark) } catch {
            // The owner may have the job. Then its next claim returns it.
            if error.isOutcomeUnknown, let owner = entry.owner { noteLostClaim(by: owner, mark: mark) }
            throw error
        }
    }

    /// - Parameter mark: by which the job that the entry's owner has claimed is found.
    private func addEach(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?, mark: Int64
    ) async throws(PostgresError) -> Result<ReplayEnqueued, ReplayError> {
        try await write(isRepeatable: entry.ids != nil) { (jobs) throws(PostgresError) in
            var added = ReplayEnqueued(ids: [])
            var owner = entry.owner
            if let id = owner, try !jobs.isAlive(id) {
                // No process would rescue the job.
                owner = nil
                added.isOwnerAlive = false
            }
            // All at once, so that two transactions do not wait for each other.
            try jobs.lock(entry.drafts.map(\.policy.orderingKey))
            for (index, draft) in entry.drafts.enumerated() {
                var id = entry.ids?[index]
                if let reserved = id, try jobs.row(reserved) != nil {
                    if try Self.isSame(draft, as: reserved, in: jobs) {
                        added.ids.append(reserved)
                        // Claimed by the same call, whose commit was not answered.
                        if let owner { added.claim = try jobs.claim(of: reserved, by: owner) }
                        continue
                    }
                    // A server that has lost commits has given the id to another job.
                    id = nil
                }
                let addition = try jobs.add(draft, as: id, of: entry, owner: owner)
                switch addition.result {
                case .success(let id): added.ids.append(id)
                case .failure(let error):
                    try jobs.undo()
                    return .failure(error)
                }
                if case .added(let id) = addition, let owner {
                    added.claim = try jobs.claim(of: id, by: owner)
                    if added.claim != nil { try jobs.mark(id, by: mark) }
                }
            }
            guard isWanted?(added.ids) ?? true else {
                try jobs.undo()
                return .success(ReplayEnqueued(ids: added.ids.map { _ in nil }))
            }
            return .success(added)
        }
    }

    private static func isSame(
        _ draft: ReplayDraft, as id: Int64, in jobs: PostgresJobs
    ) throws(PostgresError) -> Bool {
        if let key = draft.uniqueKey, try jobs.jobID(named: key) == id { return true }
        return try jobs.request(of: id).map(draft.isSame) ?? true
    }

    /// Adds the jobs of several entries together, each entry as a whole.
    static func add(
        _ entries: [ReplayEntry], to jobs: PostgresJobs, isCounted: Bool
    ) throws(PostgresError) -> [Result<ReplayEnqueued, ReplayError>] {
        let limit = isCounted ? entries.map(\.maximumCount).min() : nil
        guard let rows = try jobs.insert(entries.flatMap(\.drafts), limit: limit) else {
            // One by one, so that an entry that exceeds the limit leaves the others.
            var results: [Result<ReplayEnqueued, ReplayError>] = []
            for entry in entries {
                if let rows = try jobs.insert(entry.drafts, limit: entry.maximumCount) {
                    results.append(.success(ReplayEnqueued(ids: rows.map(\.id))))
                } else {
                    results.append(.failure(.queueFull(entry.maximumCount)))
                }
            }
            return results
        }
        var ids = rows.map(\.id)[...]
        return entries.map { entry in
            defer { ids = ids.dropFirst(entry.drafts.count) }
            return .success(ReplayEnqueued(ids: ids.prefix(entry.drafts.count).map(Optional.some)))
        }
    }

    /// Whether the open jobs have to be counted before adding some: not while there were fewer than half as many a second
    /// ago.
    private func mustCount(_ entries: [ReplayEntry]) -> Bool {
        let limit = entries.map(\.maximumCount).min() ?? 0
        let added = entries.reduce(0) { $0 + $1.drafts.count }
        return openCount.withLock { open in
            guard open.time + 1000 > .now, open.count + added < limit / 2 else { return true }
            open.count += added
            return false
        }
    }

    package func reserveIDs(_ count: Int) async throws(ReplayError) -> ReplayJob.ID {
        try await fetch { (connection) throws(PostgresError) in
            // Others may draw numbers at the same moment.
            for _ in 0..<100 {
                let ids = try connection.ids(
                    "SELECT nextval('job_id') AS id FROM generate_series(1, \(max(count, 1)))")
                if let first = ids.first, ids.last == first + Int64(ids.count) - 1 { return first }
            }
            throw PostgresError(.busy, "no consecutive ids are free at the moment")
        }
    }

    package func isPreceded(_ draft: ReplayDraft) async throws(ReplayError) -> Bool {
        let key = draft.policy.orderingKey
        return try await fetch { (connection) throws(PostgresError) in
            try connection.rows(
                """
                SELECT 1 WHERE EXISTS (
                        SELECT FROM job WHERE ordering_key = \(key) AND id > \(PostgresJobs.lastEnd(of: "\(key)")))
                    OR EXISTS (SELECT FROM job WHERE ordering_key = \(key) AND is_behind)
                    OR EXISTS (SELECT FROM job WHERE unique_key = \(draft.uniqueKey) AND has_name AND state < 4)
                """
            ).count > 0
        }
    }

    package func edit(_ edit: ReplayEdit) async throws(ReplayError) -> ReplayJob.ID {
        try await change { (jobs) throws(PostgresError) in
            let result = try Self.apply(edit, to: jobs)
            if case .failure = result { try jobs.undo() }
            return result
        }.get()
    }

    private static func apply(
        _ edit: ReplayEdit, to jobs: PostgresJobs
    ) throws(PostgresError) -> Result<ReplayJob.ID, ReplayError> {
        guard let row = try jobs.row(edit.id)?.row, let stored = try jobs.request(of: edit.id) else {
            return .failure(.noJob(edit.id))
        }
        if let error = edit.refusal(of: row, stored: stored) { return .failure(error) }
        var draft = edit.draft
        guard row.mayBeKnown else {
            draft.policy.uniqueness = .preserveSchedule
            try jobs.replace(row, by: draft)
            return .success(edit.id)
        }
        // A server may know the old request, so the new one is another job, which gets the unique name. If a newer job
        // has the name, its request is the one to send.
        if let key = draft.uniqueKey, let other = try jobs.jobID(named: key), other != edit.id {
            return .failure(.notUnique(edit.id))
        }
        draft.policy.uniqueness = .replace
        let entry = ReplayEntry([draft], maximumCount: edit.maximumCount)
        return try jobs.add(draft, of: entry).result.map { $0 ?? edit.id }
    }

    /// Turns the failures of a body into those of a queue.
    func replaying<Value>(
        _ body: (PostgresReplayStorage) async throws(PostgresError) -> Value
    ) async throws(ReplayError) -> Value {
        do throws(PostgresError) { return try await body(self) } catch { throw ReplayError(error) }
    }
}
#endif
