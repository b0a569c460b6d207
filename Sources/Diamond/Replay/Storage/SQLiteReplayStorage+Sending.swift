import DiamondSQLite
import Foundation

/// Claiming and sending jobs.
extension SQLiteReplayStorage {
    func hasReady(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool {
        try read { (connection) throws(SQLiteError) in try ReplayTable.hasReady(in: lanes, on: connection) }
    }

    func nextTime() async throws(ReplayError) -> QueueTime? {
        try read { (connection) throws(SQLiteError) in try ReplayTable.nextTime(on: connection) }
    }

    func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayClaims? {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            guard try ReplayTable.isAlive(owner, at: ledger.uptime, on: connection) else { return nil }
            let count = ledger.transitions.count
            var claims = try ReplayTable.claim(
                limit, of: selection.identities, in: selection.lanes, by: owner, on: connection, ledger: &ledger)
            claims.ends = ledger.ends(since: count)
            return claims
        }
    }

    func begin(
        _ claim: ReplayClaim, _ start: ReplayStart, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Bool {
        answerLog.reserve()
        return try await writer.write { [sentLog] (connection, ledger) throws(SQLiteError) in
            try ReplayTable.begin(
                claim.id, token: claim.token, by: owner, start, log: sentLog, on: connection, ledger: &ledger)
        }
    }

    func cancelBegin(
        _ claim: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool
    ) async throws(ReplayError) {
        try await writer.write { [sentLog] (connection, _) throws(SQLiteError) in
            guard isUnsent() else { return }
            try ReplayTable.markUnsent(claim.id, token: claim.token, log: sentLog, on: connection)
        }
    }

    func finish(_ claim: ReplayClaim, _ report: ReplayReport) async throws(ReplayError) -> ReplayState? {
        do throws(ReplayError) {
            return try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.finish(claim.id, token: claim.token, report, on: connection, ledger: &ledger)
            }
        } catch {
            if error.isTransientWhenOpen { note(report, of: claim) }
            throw error
        }
    }

    /// Records the answer of a job outside of the database, in case this process ends before it has written the
    /// outcome.
    private func note(_ report: ReplayReport, of claim: ReplayClaim) {
        guard let status = report.outcome.finalStatus else { return }
        // Also if another program has sealed the queue meanwhile: without a content, the record has only numbers.
        let row = try? database.read { (connection) throws(SQLiteError) in
            try ReplayTable.row(claim.id, on: connection)
        }
        guard let row, row.token == claim.token, answerLog.status(of: row) != status else { return }
        let content = try? database.read { (connection) throws(SQLiteError) in
            try connection.logged(report.answer, of: claim.id)
        }
        answerLog.note(status, content: content, of: row)
    }

    /// Whether a newer program has migrated the file, or another one has sealed the queue, which this one has opened
    /// without a seal. It rescues the jobs of this process once their owner is given up.
    func isLost(after error: ReplayError) -> Bool {
        guard error.code == .cannotSeal else { return error.code == .newerStore }
        do throws(SQLiteError) { try database.read(ReplayTable.refuseIfSealed) } catch {
            return error.code == .cannotSeal
        }
        return false
    }

    func retryEarly(_ retry: ReplayEarlyRetry) async throws(ReplayError) -> Bool {
        guard retry != .online else { return try await retryOffline() }
        let start = try moment().time
        let first = try read { (connection) throws(SQLiteError) in
            try ReplayTable.early(retry, limit: 1, at: start, on: connection)
        }
        guard !first.isEmpty else { return false }
        while try await writer.write({ (connection, ledger) throws(SQLiteError) in
            try ReplayTable.retryEarly(retry, since: start, on: connection, ledger: &ledger)
        }) {}
        return true
    }

    private func retryOffline() async throws(ReplayError) -> Bool {
        guard try read({ (connection) throws(SQLiteError) in try ReplayTable.hasOffline(on: connection) }) else {
            return false
        }
        while try await writer.write({ (connection, ledger) throws(SQLiteError) in
            try ReplayTable.retryOffline(on: connection, ledger: &ledger)
        }) {}
        return true
    }

    // MARK: Owners

    func register(
        _ owner: ReplayOwnerRecord.Program, lease: Int64
    ) async throws(ReplayError) -> ReplayOwnerRecord.ID {
        // The lock comes first: a row without a lock belongs to a dead owner.
        let lock = try OwnerLock(in: store.ownersDirectory)
        let name = lock.name
        let boot = clock.boot
        let id = try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.addOwner(
                name, boot: boot, process: owner.process, program: owner.name, lease: lease,
                isSuspended: owner.isSuspended, on: connection, ledger: ledger)
        }
        locks.withLock { $0[id] = lock }
        return id
    }

    func renew(
        _ owner: ReplayOwnerRecord.ID, lease: Int64, isSuspended: Bool
    ) async throws(ReplayError) -> Bool {
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.renew(owner, lease: lease, isSuspended: isSuspended, on: connection, ledger: ledger)
        }
    }

    func unregister(_ owner: ReplayOwnerRecord.ID) async throws(ReplayError) {
        // The lock is held until the row is removed, so that no process rescues the jobs meanwhile.
        defer { abandon(owner) }
        try await writer.write { [answerLog] (connection, ledger) throws(SQLiteError) in
            try ReplayTable.removeOwner(
                owner, jobsMayBeCause: false, answers: answerLog, on: connection, ledger: &ledger)
        }
    }

    func abandon(_ owner: ReplayOwnerRecord.ID) {
        // Released outside of the lock, because it removes a file.
        _ = locks.withLock { $0.removeValue(forKey: owner) }
    }

    func owners() async throws(ReplayError) -> [ReplayOwnerRecord] {
        let rows: [ReplayTable.Owner]
        // Also if another program has sealed the queue meanwhile.
        do throws(SQLiteError) { rows = try database.read(ReplayTable.owners) } catch { throw ReplayError(error) }
        let uptime = clock.uptime()
        return rows.map { row in
            let isOfOtherBoot = row.isOfOtherBoot(clock.boot)
            return ReplayOwnerRecord(
                id: row.id, leaseEnd: row.leaseUntil.rawValue,
                isDead: isOfOtherBoot || row.leaseUntil <= uptime
                    || !locks.withLock { $0[row.id] != nil } && OwnerLock.isFree(row.name, in: store.ownersDirectory),
                mayHaveCrashed: !row.isSuspended && !isOfOtherBoot)
        }
    }

    func rescue(
        _ dead: [ReplayOwnerRecord], by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayRescue {
        let (ends, names) = try await writer.write { [sentLog, answerLog] (connection, ledger) throws(SQLiteError) in
            let count = ledger.transitions.count
            guard try ReplayTable.isAlive(owner, at: ledger.uptime, on: connection) else {
                return ([] as [ReplayState], [] as [String])
            }
            var names: [String] = []
            for row in try ReplayTable.owners(on: connection) {
                // An owner that has renewed its lease meanwhile is alive.
                guard let record = dead.first(where: { $0.id == row.id && $0.leaseEnd == row.leaseUntil.rawValue })
                else { continue }
                try ReplayTable.removeOwner(
                    row.id, jobsMayBeCause: record.mayHaveCrashed, log: sentLog, answers: answerLog, on: connection,
                    ledger: &ledger)
                names.append(row.name)
            }
            return (ledger.ends(since: count), names)
        }
        for name in names { OwnerLock.remove(name, in: store.ownersDirectory) }
        return ReplayRescue(owners: names.count, ends: ends)
    }
}
