#if Postgres && canImport(CDiamondPostgres)
package import Diamond
import DiamondSQLite
import Foundation

/// The owners that claim jobs, and the rescue of the jobs of dead ones.
extension PostgresReplayStorage {
    package func register(
        _ owner: ReplayOwnerRecord.Program, lease: Int64
    ) async throws(ReplayError) -> ReplayOwnerRecord.ID {
        let id = try await replaying { (storage) throws(PostgresError) in
            try await storage.pool.transaction { (connection) throws(PostgresError) in
                try connection.rows(
                    """
                    INSERT INTO owner (process, program, address, started_at, lease_until, is_suspended)
                    VALUES (\(Int64(owner.process)), \(owner.name), inet_client_addr()::text, \(storage.clock.sql),
                        \(storage.clock.sql) + \(lease), \(owner.isSuspended))
                    RETURNING id
                    """
                ).first?.int64("id") ?? 0
            }
        }
        let isHeld = Promise<Bool>()
        let prepare = { @Sendable (connection: PostgresConnection) throws(PostgresError) in
            try connection.run(
                "SELECT pg_advisory_lock(\(Int64(PostgresJobs.Lock.owner.rawValue))::int, \(id)::int)")
            // From now on, others may conclude from a free lock that the owner is dead.
            try connection.run("UPDATE owner SET has_lock = true WHERE id = \(id) AND NOT has_lock")
        }
        let session = PostgresListener(pool.address, name: "owner", channel: nil, prepare: prepare) { event in
            if event == .connected { isHeld.fulfill(with: true) }
        }
        sessions.withLock { $0[id] = session }
        let timer = Task {
            // Without a session, the lease alone proves that the owner is alive.
            if (try? await ContinuousClock().sleep(for: .seconds(5))) != nil { isHeld.fulfill(with: false) }
        }
        _ = await isHeld.value()
        timer.cancel()
        return id
    }

    package func renew(
        _ owner: ReplayOwnerRecord.ID, lease: Int64, isSuspended: Bool
    ) async throws(ReplayError) -> Bool {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.pool.transaction(isRepeatable: true) { (connection) throws(PostgresError) in
                // A lease that has ended is not renewed: another process may have begun to rescue the jobs.
                try connection.rows(
                    """
                    UPDATE owner SET lease_until = \(storage.clock.sql) + \(lease), is_suspended = \(isSuspended)
                    WHERE id = \(owner) AND lease_until > \(storage.clock.sql) RETURNING id
                    """
                ).count > 0
            }
        }
    }

    package func unregister(_ owner: ReplayOwnerRecord.ID) async throws(ReplayError) {
        // The lock is held until the row is removed, so that no process rescues the jobs meanwhile.
        defer { abandon(owner) }
        try await change(isRepeatable: true) { (jobs) throws(PostgresError) in
            try jobs.removeOwner(owner, mayBeCause: false)
        }
    }

    package func abandon(_ owner: ReplayOwnerRecord.ID) {
        sessions.withLock { $0.removeValue(forKey: owner) }?.close()
        lostClaims.withLock { $0.removeAll { $0.owner == owner } }
    }

    package func owners() async throws(ReplayError) -> [ReplayOwnerRecord] {
        let first = try await ownerRecords()
        guard first.contains(where: { $0.hasNoSession }) else { return first.map(\.record) }
        // An owner whose session was cut, but which is alive, takes its lock again at once.
        try? await ContinuousClock().sleep(for: .milliseconds(300))
        let still = Set(first.filter(\.hasNoSession).map(\.record.id))
        return try await ownerRecords().map { owner in
            guard owner.hasNoSession, still.contains(owner.record.id) else { return owner.record }
            return ReplayOwnerRecord(
                id: owner.record.id, leaseEnd: owner.record.leaseEnd, isDead: true,
                mayHaveCrashed: owner.record.mayHaveCrashed)
        }
    }

    private typealias Known = (record: ReplayOwnerRecord, hasNoSession: Bool)

    /// The condition for an owner whose session has ended. After a restart of the server, all sessions are made again.
    ///
    /// Until the transaction ends, the owner cannot come back. The lock is shared, so that others find the same. To search
    /// `pg_locks` instead takes the server twenty times as long.
    static let hasNoSession: PostgresSQL = """
        has_lock AND pg_postmaster_start_time() < now() - interval '5 seconds' AND \(PostgresJobs.locksOwner)
        """

    private func ownerRecords() async throws(ReplayError) -> [Known] {
        try await fetch { [clock] (connection) throws(PostgresError) in
            try connection.rows(
                """
                SELECT id, lease_until, lease_until <= \(clock.sql) AS is_late, is_suspended,
                    \(Self.hasNoSession) AS has_no_session
                FROM owner ORDER BY id
                """
            ).map { row -> Known in
                let record = ReplayOwnerRecord(
                    id: row.int64("id"), leaseEnd: row.int64("lease_until"), isDead: row.bool("is_late"),
                    mayHaveCrashed: !row.bool("is_suspended"))
                return (record, row.bool("has_no_session"))
            }
        }
    }

    package func rescue(
        _ dead: [ReplayOwnerRecord], by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayRescue {
        try await change { (jobs) throws(PostgresError) in
            guard try jobs.isAlive(owner) else { return ReplayRescue(owners: 0, ends: []) }
            var count = 0
            for record in dead where try jobs.lockDead(record) {
                try jobs.removeOwner(record.id, mayBeCause: record.mayHaveCrashed)
                count += 1
            }
            return ReplayRescue(owners: count, ends: jobs.ends)
        }
    }
}

extension PostgresJobs {
    /// Locks the row of a dead owner, and its advisory lock, so that it does not come back meanwhile.
    ///
    /// - Returns: `false` if it has renewed its lease since it was read, has its session again, or is being rescued.
    fileprivate func lockDead(_ record: ReplayOwnerRecord) throws(PostgresError) -> Bool {
        // An owner of a stalled machine may still have its session, after its lease has ended.
        try connection.rows(
            """
            SELECT id FROM owner WHERE id = \(record.id) AND lease_until = \(record.leaseEnd)
                AND (\(Self.locksOwner) OR lease_until <= \(clock.sql))
            FOR UPDATE SKIP LOCKED
            """
        ).count > 0
    }

    /// Locks a dead owner out; `false` if its session has the lock.
    fileprivate static var locksOwner: PostgresSQL {
        "pg_try_advisory_xact_lock_shared(\(Int64(Lock.owner.rawValue))::int, id::int)"
    }

    /// Removes an owner, and gives its jobs back.
    ///
    /// - Parameter mayBeCause: whether one of its jobs may have caused its end.
    func removeOwner(_ owner: Int64, mayBeCause: Bool) throws(PostgresError) {
        // No claim of the owner commits afterwards: it has read its row before.
        try connection.run("DELETE FROM owner WHERE id = \(owner)")
        let ids = try connection.ids("SELECT id FROM job WHERE owner = \(owner) AND state = 2")
        guard !ids.isEmpty else { return }
        let stored = try rows(ids, isRunning: true)
        let running = stored.values.map(\.row).filter { $0.state == .running && $0.owner == owner }
            .sorted { $0.id < $1.id }
        if mayBeCause {
            let message = "its sender died, or was suspended for longer than its lease"
            try add(
                running.compactMap { row in
                    row.sentAt.map {
                        (row.id, ReplayDraft.History.Failure(startedAt: $0, code: "died", message: message))
                    }
                })
        }
        let deaths = try deaths(of: ids)
        let holds = try holds(on: running)
        try save(
            running.map { row in
                var row = row
                row.applyOwnerDeath(rescues: deaths[row.id] ?? 0, mayBeCause: mayBeCause, at: now)
                row.updateState(at: now) { holds.cover($0) }
                return Change(row: row, verb: .rescue, old: .running)
            })
    }
}
#endif
