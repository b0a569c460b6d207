/// The rescue of jobs whose owners have died.
extension ReplayOwner {
    /// Rescues the jobs of owners that have died, or whose leases have ended, so that they are sent again.
    ///
    /// - Parameter report: receives the states of rescued jobs that are dead or in review.
    /// - Returns: whether other living owners are left.
    func rescue(reportingEnds report: ([ReplayState]) -> Void) async throws(ReplayError) -> Bool {
        guard !isRetired else { return false }
        let own = id
        let others = try await storage.owners().filter { $0.id != own }
        let dead = others.filter(\.isDead)
        guard !dead.isEmpty else { return !others.isEmpty }
        // An owner that cannot keep its own lease must not declare others dead.
        let me = try await enter()
        defer { leave() }
        let rescue = try await storage.rescue(dead, by: me)
        report(rescue.ends)
        return others.count > rescue.owners
    }
}
