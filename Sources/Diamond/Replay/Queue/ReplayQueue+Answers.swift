import DiamondSQLite
import Foundation

/// Jobs whose answers are kept until this package's other targets take them (``ReplayPolicy/keepsAnswer``).
extension ReplayQueue {
    /// A job, what it sends, and its answer.
    package struct KeptJob: Sendable {
        package let job: ReplayJob
        /// The request; `nil` if it is damaged on disk.
        package let request: Request?
        /// The answer; `nil` if none has come.
        package let answer: ReplayAnswer?
        /// The reason why the job has no answer; `nil` if it has one, or has not ended.
        package let failure: ReplayError?
    }

    /// The jobs that keep answers, ended or not, in the order in which they were added, and whether the answers were taken.
    package func jobsKeepingAnswers() throws(ReplayError) -> [(job: ReplayJob, isTaken: Bool)] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.keepingAnswers(on: connection) }
            .map { ($0.job.moved(by: lead), $0.isTaken) }
    }

    /// Returns a job with its answer; `nil` if the answer is no longer kept.
    ///
    /// - Throws: ``ReplayError`` if the file cannot be read.
    package func keptJob(_ id: ReplayJob.ID) throws(ReplayError) -> KeptJob? {
        let kept = try read { (connection) throws(SQLiteError) in try ReplayTable.answer(of: id, on: connection) }
        guard let kept, let job = try job(id) else { return nil }
        let request: Request?
        do throws(ReplayError) { request = try self.request(of: id) } catch {
            guard error.code == .badRequest else { throw error }
            return KeptJob(job: job, request: nil, answer: nil, failure: error)
        }
        switch kept {
        case .none: return KeptJob(job: job, request: request, answer: nil, failure: try failure(of: job))
        case .damaged:
            let error = ReplayError(.other, "the answer to job \(id) is damaged on disk: load its object again")
            return KeptJob(job: job, request: request, answer: nil, failure: error)
        case .answer(var answer):
            answer.receivedAt = Date(milliseconds: answer.receivedAt.milliseconds + (try moment().lead))
            return KeptJob(job: job, request: request, answer: answer, failure: nil)
        }
    }

    private func failure(of job: ReplayJob) throws(ReplayError) -> ReplayError? {
        guard job.state.isEnd else { return nil }
        let last = try failures(of: job.id).last.map { ": \($0.message)" } ?? ""
        return ReplayError(.other, "job \(job.id) has ended without an answer, \(job.reason)\(last)")
    }

    /// Notes that the answers to jobs were taken. The jobs are forgotten like others then.
    ///
    /// - Parameter lasting: those of them whose answers are kept as long as the jobs are.
    package func takeAnswers(
        of ids: [ReplayJob.ID], keeping lasting: Set<ReplayJob.ID> = []
    ) async throws(ReplayError) {
        if ids.isEmpty { return }
        try await writer.write { (connection, ledger) throws(SQLiteError) in
            for id in ids {
                if lasting.contains(id) {
                    try ReplayTable.markTaken(id, at: ledger.now, on: connection)
                } else {
                    try ReplayTable.forgetAnswer(of: id, on: connection)
                }
            }
        }
    }

    /// Puts an id into a job that waits for one, and lets it be sent. One that does not wait is left alone.
    ///
    /// - Throws: as ``edit(_:_:)``.
    package func complete(
        _ id: ReplayJob.ID, _ change: @Sendable (inout Request) -> Void
    ) async throws(ReplayError) {
        guard let old = try request(of: id), old.replay.awaitsID else { return }
        var request = old
        change(&request)
        request.replay.awaitsID = false
        _ = try await edit(id, from: old, to: request)
    }
}
