import DiamondSQLite

/// Actions, holds, the sign-out of identities, and maintenance.
extension SQLiteReplayStorage {
    func apply(
        _ action: ReplayAction, to ids: [ReplayJob.ID], isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect] {
        try await write(isDryRun: isDryRun) { (connection, ledger) throws(SQLiteError) in
            var effects: [ReplayEffect] = []
            for id in ids { effects.append(try ReplayTable.apply(action, to: id, on: connection, ledger: &ledger)) }
            return effects
        }
    }

    func claimPreview(
        _ limit: Int, of identities: ReplaySelection.Identities
    ) async throws(ReplayError) -> ReplayQueue.ClaimPreview {
        try await write(isDryRun: true) { (connection, ledger) throws(SQLiteError) in
            var preview = ReplayLedger(at: ledger.moment, uptime: ledger.uptime)
            _ = try ReplayTable.claim(limit, of: identities, by: 0, on: connection, ledger: &preview)
            let remaining = try ReplayTable.readyCount(of: identities, on: connection)
            return ReplayQueue.ClaimPreview(transitions: preview.transitions, remaining: remaining)
        }
    }

    // MARK: Holds

    func hold(
        _ hold: ReplayHold, reason: String, isSignOut: Bool, isDryRun: Bool
    ) async throws(ReplayError) -> Int {
        try await change(hold, jobsIn: [.ready, .waiting], isDryRun: isDryRun) {
            (connection, ledger) throws(SQLiteError) in
            try ReplayTable.add(hold, reason: reason, isSignOut: isSignOut, on: connection, ledger: ledger)
        }
    }

    func release(_ hold: ReplayHold, isDryRun: Bool) async throws(ReplayError) -> Int {
        let count = try await change(hold, jobsIn: [.held], isDryRun: isDryRun) {
            (connection, ledger) throws(SQLiteError) in
            try ReplayTable.remove(hold, on: connection, ledger: &ledger)
        }
        // A hold of the queue or the engines changes no job, so no transition wakes the replayers.
        if hold.isWhole, !isDryRun {
            report(ReplayCommit())
            wakeFile.wake()
        }
        return count
    }

    /// Changes the hold itself first, so that the change applies to jobs added meanwhile. Then changes the existing
    /// jobs, batch by batch.
    ///
    /// - Parameter body: changes the hold.
    private func change(
        _ hold: ReplayHold,
        jobsIn states: [ReplayState],
        isDryRun: Bool,
        body: @escaping ReplayWriter.Body<Void>
    ) async throws(ReplayError) -> Int {
        var count = 0
        var ids: [ReplayJob.ID] = []
        repeat {
            let batch = ids
            let last = ids.last ?? 0
            count += try await write(isDryRun: isDryRun) { (connection, ledger) throws(SQLiteError) in
                // Only in the first transaction: a later one would add the hold again if another process has ended it
                // meanwhile. A dry run undoes each transaction, so it changes the hold in each.
                if batch.isEmpty || isDryRun { try body(connection, &ledger) }
                return try ReplayTable.applyHolds(to: batch, in: states, on: connection, ledger: &ledger)
            }
            if batch.isEmpty, !isDryRun, hold.isForEngines {
                report(ReplayCommit(changesHolds: true))
                holdsWakeFile.wake()
            }
            ids = try read { (connection) throws(SQLiteError) in
                try ReplayTable.ids(of: hold, in: states, after: last, on: connection)
            }
        } while !ids.isEmpty
        return count
    }

    /// Releases the jobs of holds whose end was interrupted.
    private func releaseOrphans() async throws(ReplayError) {
        while true {
            let ids = try read { (connection) throws(SQLiteError) in try ReplayTable.orphans(on: connection) }
            guard !ids.isEmpty else { return }
            let count = try await writer.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.applyHolds(to: ids, in: [.held], on: connection, ledger: &ledger)
            }
            // Another process has released them.
            guard count > 0 else { return }
        }
    }

    // MARK: Signing out

    /// What is erased is overwritten in the file, and the log is emptied, unless another process reads it at that
    /// moment. If this fails, or the process ends before, a later sign-out, maintenance or closing of a queue does it.
    func eraseJobs(of identity: String, discardingOpen discardsJobs: Bool) async throws(ReplayError) {
        let stored = try read { (connection) throws(SQLiteError) in connection.stored(identity, .identity) }
        try await erase(stored, includingOpen: discardsJobs)
        if discardsJobs {
            // In one transaction, so that no job is added between, which would be sent once the hold has ended.
            let isMore = {
                @Sendable [erasures]
                (connection: borrowing SQLiteConnection, ledger: inout ReplayLedger) throws(SQLiteError) -> Bool in
                let ids = try ReplayTable.jobs(of: stored, includingOpen: true, after: 0, on: connection)
                if !ids.isEmpty { erasures.note() }
                try ReplayTable.delete(ids, on: connection, ledger: &ledger)
                if ids.isEmpty { try ReplayTable.remove(.identity(identity), on: connection, ledger: &ledger) }
                return !ids.isEmpty
            }
            while try await writer.write(isMore) {}
        }
        try eraseLoggedAnswers()
        try await overwriteErased()
    }

    /// Erases the jobs of identities that signed out while the jobs were being sent.
    ///
    /// - Parameter isWanted: called before the file is rewritten. If it returns `false`, that is left to a later call.
    func eraseJobsOfSignedOut(while isWanted: @Sendable () -> Bool = { true }) async throws(ReplayError) {
        let names = try read { (connection) throws(SQLiteError) in try ReplayTable.signedOut(on: connection) }
        for name in names { try await erase(name, includingOpen: false) }
        try eraseLoggedAnswers()
        if isWanted() { try await overwriteErased() }
    }

    /// Erases the answers outside of the file, except those whose jobs have no outcome yet.
    private func eraseLoggedAnswers() throws(ReplayError) {
        let running = try read { (connection) throws(SQLiteError) in try ReplayTable.running(on: connection) }
        answerLog.eraseContents { !running.contains($0) }
    }

    /// Overwrites what this or another process has erased, if there is something.
    private func overwriteErased() async throws(ReplayError) {
        guard let due = erasures.due else { return }
        try await writer.overwriteErased()
        erasures.clear(due)
    }

    /// - Parameter identity: the identity as it is in its column.
    private func erase(_ identity: String, includingOpen includesOpen: Bool) async throws(ReplayError) {
        var last: Int64 = 0
        while true {
            let start = last
            let ids = try read { (connection) throws(SQLiteError) in
                try ReplayTable.jobs(of: identity, includingOpen: includesOpen, after: start, on: connection)
            }
            guard let end = ids.last else { return }
            erasures.note()
            try await writer.write { (connection, ledger) throws(SQLiteError) in
                // Read again: a job may have been redriven meanwhile.
                let ids = try ReplayTable.jobs(
                    of: identity, includingOpen: includesOpen, after: start, on: connection)
                try ReplayTable.delete(ids.filter { $0 <= end }, on: connection, ledger: &ledger)
            }
            last = end
        }
    }

    // MARK: Maintenance

    func maintain(_ retention: ReplayRetention) async throws(ReplayError) {
        let names = try read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection).map(\.name) }
        // Their owners died before they had rows, or those that rescued their jobs died before they removed the files.
        OwnerLock.removeFree(in: store.ownersDirectory, except: Set(names))
        try await releaseOrphans()
        try await eraseJobsOfSignedOut()
        try await writeBatches { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.correctTimes(on: connection, ledger: &ledger)
        }
        try await writeBatches { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.deleteEnded(beyond: retention, on: connection, ledger: &ledger)
        }
    }

    func check() async throws(ReplayError) -> [ReplayFinding] {
        try read { (connection) throws(SQLiteError) in
            let errors = try ReplayTable.integrityErrors(on: connection)
            // The contents of a damaged file cannot be trusted.
            guard errors.isEmpty else { return errors.map { ReplayFinding(what: $0) } }
            return try ReplayTable.damages(on: connection).findings
        }
    }
}
