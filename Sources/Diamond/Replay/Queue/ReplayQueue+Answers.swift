package import Foundation

/// Jobs whose answers are stored until this package's other targets consume them (``ReplayPolicy/storesAnswer``).
extension ReplayQueue {
    /// A job, its request, and its answer.
    package struct AnsweredJob: Sendable {
        package let job: ReplayJob
        /// The request; `nil` if it is damaged on disk.
        package let request: Request?
        /// The answer; `nil` if there is none.
        package var answer: ReplayAnswer?
        /// The time at which the answer was received; `nil` if there is none.
        package var receivedAt: Date?
        /// The reason why the job has no answer; `nil` if it has one, or has not ended.
        package var failure: ReplayError?
    }

    /// Returns the jobs that store answers, ended or not, in the order in which they were added, and whether each
    /// answer was consumed.
    ///
    /// - Parameter ids: the jobs to return; `nil` for all.
    package func jobsStoringAnswers(
        among ids: Set<ReplayJob.ID>? = nil
    ) throws(ReplayError) -> [(job: ReplayJob, isConsumed: Bool)] { try storage.jobsStoringAnswers(among: ids) }

    /// Returns a job with its answer; `nil` if the answer is no longer stored.
    ///
    /// - Throws: ``ReplayError`` if the file cannot be read.
    package func answeredJob(_ id: ReplayJob.ID) throws(ReplayError) -> AnsweredJob? {
        guard let stored = try storage.answer(to: id), let job = try job(id) else { return nil }
        let request: Request?
        do throws(ReplayError) { request = try self.request(of: id) } catch {
            guard error.code == .badRequest else { throw error }
            return AnsweredJob(job: job, request: nil, failure: error)
        }
        switch stored {
        case .none: return AnsweredJob(job: job, request: request, failure: try failure(of: job))
        case .damaged:
            let error = ReplayError(.other, "the answer to job \(id) is damaged on disk: load its object again")
            return AnsweredJob(job: job, request: request, failure: error)
        case .answer(let answer, let time):
            return AnsweredJob(
                job: job, request: request, answer: answer, receivedAt: try moment().date(of: time))
        }
    }

    private func failure(of job: ReplayJob) throws(ReplayError) -> ReplayError? {
        guard job.state.isEnd else { return nil }
        let last = try failures(of: job.id).last.map { ": \($0.message)" } ?? ""
        return ReplayError(.other, "job \(job.id) has ended without an answer, \(job.reason)\(last)")
    }

    /// Notes that the answers to jobs were consumed. Then the jobs are deleted like other jobs.
    ///
    /// - Parameter retained: the jobs among them whose answers stay as long as the jobs do.
    package func consumeAnswers(
        of ids: [ReplayJob.ID], retaining retained: Set<ReplayJob.ID> = []
    ) async throws(ReplayError) {
        if !ids.isEmpty { try await storage.consumeAnswers(of: ids, retaining: retained) }
    }

    // MARK: Ids of objects

    /// Puts the id of an object into the requests that wait for it. The queue does it by itself if it finds the id in
    /// the answer.
    package func assign(_ id: JSONValue, to localID: String) async throws(ReplayError) {
        try await storage.assign(id, to: localID)
    }

    /// Discards the jobs that wait for the id of an object that will never be created.
    package func discardJobs(awaiting localID: String) async throws(ReplayError) {
        try await storage.discardJobs(awaiting: localID)
    }

    /// Returns the ids of objects that jobs have created, by local id; `null` for an object that no job has created yet.
    /// Objects that no job creates are left out.
    package func ids(of localIDs: Set<String>) throws(ReplayError) -> [String: JSONValue] {
        localIDs.isEmpty ? [:] : try storage.ids(of: localIDs)
    }
}
