import DiamondSQLite

/// Erasing the jobs of an identity that signs out.
extension ReplayQueue {
    /// Holds the jobs of an identity, and erases those that have ended, with their answers. What is erased is
    /// overwritten in the file, and the log is emptied, unless another process reads it at that moment. If this fails,
    /// or the process ends before, a later sign-out, maintenance or closing of a queue does it.
    ///
    /// Jobs that are being sent are erased when they have ended: by the next hourly maintenance, or when a queue is
    /// closed. Jobs that have ended and that open jobs need are not erased: they stop later jobs in strict order, or
    /// have an answer with the id that a job waits for.
    ///
    /// - Parameter discardsJobs: whether to erase all jobs of the identity, also those that wait or are being sent.
    ///   Then nothing is left to hold, and the hold ends.
    func signOut(_ identity: String, discardingJobs discardsJobs: Bool) async throws(ReplayError) {
        let hold = ReplayHold.identity(identity)
        try await apply(hold, reason: "signed out", isSignOut: true)
        let stored = try read { (connection) throws(SQLiteError) in connection.stored(identity, .identity) }
        try await eraseJobs(of: stored, includingOpen: discardsJobs)
        if discardsJobs {
            // In one transaction, so that no job is added between, which would be sent once the hold has ended.
            let isMore = {
                @Sendable
                (
                    connection: borrowing SQLiteConnection, ledger: inout ReplayLedger
                ) throws(SQLiteError) -> Bool in
                let ids = try ReplayTable.jobs(of: stored, includingOpen: true, after: 0, on: connection)
                if !ids.isEmpty { self.erasures.note() }
                try ReplayTable.delete(ids, on: connection, ledger: &ledger)
                if ids.isEmpty { try ReplayTable.remove(hold, on: connection, ledger: &ledger) }
                return !ids.isEmpty
            }
            while try await writer.write(isMore) {}
            notifyEngines(of: hold)
        }
        try eraseLoggedAnswers()
        try await overwriteErased()
    }

    /// Erases the jobs of identities that signed out while the jobs were being sent.
    ///
    /// - Parameter isWanted: called before the file is rewritten. If it returns `false`, that is left to a later call.
    func eraseJobsOfSignedOut(while isWanted: @Sendable () -> Bool = { true }) async throws(ReplayError) {
        let names = try read { (connection) throws(SQLiteError) in try ReplayTable.signedOut(on: connection) }
        for name in names { try await eraseJobs(of: name, includingOpen: false) }
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
    private func eraseJobs(
        of identity: String, includingOpen includesOpen: Bool
    ) async throws(ReplayError) {
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
}
