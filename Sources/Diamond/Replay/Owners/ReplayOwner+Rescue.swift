import DiamondSQLite

/// The rescue of jobs whose owners have died.
extension ReplayOwner {
    /// Rescues the jobs of owners that have died, or whose leases have ended, so that they are sent again.
    ///
    /// - Parameter report: receives the states of rescued jobs that are dead or in review.
    /// - Returns: whether other living owners are left.
    func rescue(reportingEnds report: ([ReplayState]) -> Void) async throws(ReplayError) -> Bool {
        guard !isRetired else { return false }
        let others = try owners()
        let dead = others.filter(isDead)
        guard !dead.isEmpty else { return !others.isEmpty }
        // An owner that cannot keep its own lease must not declare others dead.
        let me = try await enter()
        defer { leave() }
        let boot = clock.boot
        let sent = SentLog(store.sentPath)
        let answers = AnswerLog(store.answersPath)
        let (ends, rescued) = try await writer.write { (connection, ledger) throws(SQLiteError) in
            let count = ledger.transitions.count
            guard try ReplayTable.isAlive(me, at: ledger.uptime, on: connection) else {
                return ([] as [ReplayState], [] as [ReplayTable.Owner])
            }
            // An owner that has renewed its lease meanwhile is alive.
            let now = try ReplayTable.owners(on: connection)
            let rescued = dead.filter { owner in
                now.contains { $0.id == owner.id && $0.leaseUntil == owner.leaseUntil }
            }
            for owner in rescued {
                let mayBeCause = !owner.isSuspended && !owner.isOfOtherBoot(boot)
                try ReplayTable.removeDeadOwner(
                    owner.id, jobsMayBeCause: mayBeCause, log: sent, answers: answers, on: connection, ledger: &ledger)
            }
            return (ledger.ends(since: count), rescued)
        }
        report(ends)
        for owner in rescued { OwnerLock.remove(owner.name, in: store.ownersDirectory) }
        return others.count > rescued.count
    }

    /// Removes the lock files of dead owners without a row. Such an owner died before it had a row, or the process that
    /// rescued its jobs died before it removed the file.
    func removeOrphanedLocks() throws(ReplayError) {
        OwnerLock.removeFree(in: store.ownersDirectory, except: Set(try owners().map(\.name)))
    }

    private func owners() throws(ReplayError) -> [ReplayTable.Owner] {
        let me = id
        do throws(SQLiteError) {
            return try writer.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }
                .filter { $0.id != me }
        } catch {
            throw ReplayError(error)
        }
    }

    private func isDead(_ owner: ReplayTable.Owner) -> Bool {
        owner.isOfOtherBoot(clock.boot) || owner.leaseUntil <= clock.uptime()
            || OwnerLock.isFree(owner.name, in: store.ownersDirectory)
    }
}
