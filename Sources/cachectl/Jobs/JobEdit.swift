#if Tools
import Diamond
import Foundation

/// A replacement of a job's request.
struct JobEdit {
    struct Result {
        /// The job that has the new request.
        let job: ReplayJob.ID
        let isChanged: Bool

        /// Returns a sentence if another job has the new request; otherwise `nil`.
        func note(editing id: ReplayJob.ID) -> String? {
            job == id
                ? nil : "job \(id) may have been processed: it is unchanged, and the request is a new job"
        }
    }

    let id: ReplayJob.ID
    /// The request at the start of the edit.
    let old: Request
    /// The origin of the new request, for messages.
    let place: String

    /// Replaces the request, unless the job was changed since the start of the edit.
    ///
    /// - Parameter text: The new request as JSON.
    func apply(_ text: Data, in queue: ReplayQueue) async throws(ReplayError) -> Result {
        let new = try read(text).completed(by: old)
        guard new != old else { return Result(job: id, isChanged: false) }
        return Result(job: try await queue.edit(id, from: old, to: new), isChanged: true)
    }

    private func read(_ text: Data) throws(ReplayError) -> Request {
        do throws(RequestError) {
            return try Request(json: text)
        } catch {
            throw ReplayError(.badRequest, "\(place): \(error.message)")
        }
    }
}

extension Request {
    /// Returns the request, with the identity, lane and replay policy of an older one where it has none.
    fileprivate func completed(by old: Request) -> Request {
        var request = self
        if request.identity == nil { request.identity = old.identity }
        if request.lane == .default { request.lane = old.lane }
        if request.replay == .never { request.replay = old.replay }
        return request
    }
}
#endif
