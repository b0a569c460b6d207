/// Erasing the jobs of an identity that signs out.
extension ReplayQueue {
    /// Holds the jobs of an identity, and erases those that have ended, with their answers.
    ///
    /// Jobs that are being sent are erased when they have ended: by the next hourly maintenance, or when a queue is
    /// closed. Jobs that have ended and that open jobs need are not erased: they stop later jobs in strict order, or
    /// have an answer with the id that a job waits for.
    ///
    /// - Parameter discardsJobs: whether to erase all jobs of the identity, also those that wait or are being sent.
    ///   Then nothing is left to hold, and the hold ends.
    func signOut(_ identity: String, discardingJobs discardsJobs: Bool) async throws(ReplayError) {
        try await apply(.identity(identity), reason: "signed out", isSignOut: true)
        try await storage.eraseJobs(of: identity, discardingOpen: discardsJobs)
    }
}
