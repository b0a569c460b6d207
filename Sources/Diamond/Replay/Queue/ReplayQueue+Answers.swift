import DiamondSQLite
import Foundation

/// Jobs whose answers are kept until this package's other targets take them (``ReplayPolicy/keepsAnswer``).
extension ReplayQueue {
    /// A job, what it sends, and its answer.
    package struct KeptJob: Sendable {
        package let job: ReplayJob
        package let request: Request
        /// The answer; `nil` where none has come.
        package let answer: ReplayAnswer?
        /// Why it has no answer; `nil` where it has one, or has not ended.
        package let failure: ReplayError?
    }

    /// The jobs whose answers are wanted, ended or not, in the order in which they were added.
    package func jobsKeepingAnswers() throws(ReplayError) -> [ReplayJob] {
        let lead = try moment().lead
        return try read { (connection) throws(SQLiteError) in try ReplayTable.expectingAnswers(on: connection) }
            .map { $0.moved(by: lead) }
    }

    /// Returns a job with its answer; `nil` where that was taken.
    ///
    /// - Throws: ``ReplayError`` where what is on disk cannot be read.
    package func keptJob(_ id: ReplayJob.ID) throws(ReplayError) -> KeptJob? {
        let kept = try read { (connection) throws(SQLiteError) in try ReplayTable.answer(of: id, on: connection) }
        guard let kept, let job = try job(id), let request = try request(of: id) else { return nil }
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
    package func forgetAnswers(of ids: [ReplayJob.ID]) async throws(ReplayError) {
        if ids.isEmpty { return }
        try await writer.write { (connection, _) throws(SQLiteError) in
            for id in ids { try ReplayTable.forgetAnswer(of: id, on: connection) }
        }
    }

    // MARK: Waiting for an id

    /// Adds a request whose URL needs an id that another job will bring: it is held until ``complete(_:_:)``. Where one of its
    /// unique name was not sent yet, it is merged into that.
    ///
    /// - Returns: as ``enqueue(_:after:)``.
    package func enqueueAwaitingID(_ request: Request) async throws(ReplayError) -> ReplayJob.ID? {
        var draft = try await draft(of: request)
        draft.heldReason = .awaitingID
        return try await add([draft])[0]
    }

    /// Puts an id into a job that waits for one, and lets it be sent. One that does not wait is left alone.
    ///
    /// - Throws: as ``edit(_:_:)``.
    package func complete(
        _ id: ReplayJob.ID, _ change: @Sendable (inout Request) -> Void
    ) async throws(ReplayError) {
        guard let job = try job(id), job.state == .held, job.reason == .awaitingID, let old = try request(of: id)
        else { return }
        var request = old
        change(&request)
        _ = try await edit(id, from: old, to: request, isRelease: true)
    }
}
