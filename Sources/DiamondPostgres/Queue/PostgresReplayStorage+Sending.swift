#if Postgres && canImport(CDiamondPostgres)
package import Diamond

/// Beginning and finishing the attempts of jobs.
extension PostgresReplayStorage {
    package func begin(
        _ claim: ReplayClaim, _ start: ReplayStart, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Bool {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.beginnings.call((claim, start, owner)) { (items) throws(PostgresError) in
                try await storage.write(isRepeatable: true) { (jobs) throws(PostgresError) in try jobs.begin(items) }
            }
        }
    }

    package func cancelBegin(
        _ claim: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool
    ) async throws(ReplayError) {
        try await change(isRepeatable: true) { (jobs) throws(PostgresError) in
            guard isUnsent(), var row = try jobs.rows([claim.id], isRunning: true)[claim.id]?.row,
                row.token == claim.token, row.state == .running
            else { return }
            row.sentAt = nil
            try jobs.saveSending([row])
        }
    }

    package func finish(_ claim: ReplayClaim, _ report: ReplayReport) async throws(ReplayError) -> ReplayState? {
        try await replaying { (storage) throws(PostgresError) in
            try await storage.endings.call((claim, report)) { (items) throws(PostgresError) in
                try await storage.write(isRepeatable: true) { (jobs) throws(PostgresError) in try jobs.finish(items) }
            }
        }
    }
}
#endif
