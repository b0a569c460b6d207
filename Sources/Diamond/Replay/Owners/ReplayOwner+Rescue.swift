import DiamondSQLite

/// The rescue of jobs whose owners have died.
extension ReplayOwner {
    /// Takes the jobs of owners that have died, or have been away for longer than their leases, and lets them be sent
    /// again.
    ///
    /// - Parameter tell: receives the states of rescued jobs that are dead or in review.
    /// - Returns: whether other living owners are left.
    func rescue(tellingEnds tell: ([ReplayState]) -> Void) async throws(ReplayError) -> Bool {
        guard !isRetired else { return false }
        let others = try owners()
        let dead = others.filter(isDead)
        guard !dead.isEmpty else { return !others.isEmpty }
        // Who cannot keep its own lease must not judge others.
        let me = try await enter()
        defer { leave() }
        let (boot, sent) = (clock.boot, SentLog(store.sentPath))
        let (ends, buried) = try await writer.write { (connection, ledger) throws(SQLiteError) in
            let count = ledger.transitions.count
            guard try ReplayTable.isAlive(me, at: ledger.uptime, on: connection) else {
                return ([] as [ReplayState], [] as [ReplayTable.Owner])
            }
            // One that has said meanwhile that it lives is believed.
            let now = try ReplayTable.owners(on: connection)
            let buried = dead.filter { owner in
                now.contains { $0.id == owner.id && $0.leaseUntil == owner.leaseUntil }
            }
            for owner in buried {
                let isInnocent = owner.isSuspended || owner.isOfAnother(boot)
                try ReplayTable.bury(owner.id, isInnocent: isInnocent, notedIn: sent, on: connection, &ledger)
            }
            return (ledger.ends(since: count), buried)
        }
        tell(ends)
        for owner in buried { OwnerLock.remove(owner.name, in: store.ownersDirectory) }
        return others.count > buried.count
    }

    /// Removes the lock files of dead owners that have no row: they died before they had one, or their rescuer died before
    /// it removed the file.
    func removeLeftLocks() throws(ReplayError) {
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
        owner.isOfAnother(clock.boot) || owner.leaseUntil <= clock.uptime()
            || OwnerLock.isFree(owner.name, in: store.ownersDirectory)
    }
}
