/// The outcome of a request that may be queued: it was sent, or it is a job of the queue.
public enum Submission<Value: Sendable>: Sendable {
    /// The request was sent. The value is its ``Response``, or the output of a typed call.
    case sent(Value)
    /// The request is in the queue, and a replayer sends it later (``Engine/replayer(width:identities:)``).
    case queued(ReplayJob)
}

extension Submission: Equatable where Value: Equatable {}
extension Submission: Hashable where Value: Hashable {}

/// Requests that return their job if they are queued, instead of an error.
extension Engine {
    /// Sends a request, as ``send(_:)->Response`` does, and returns its response or its job.
    ///
    /// ```swift
    /// switch try await engine.submit(note) {
    /// case .sent(let response): show(response)
    /// case .queued(let job): print("\(job)")
    /// }
    /// ```
    ///
    /// ``Request/replay`` decides whether the request is queued. A request without a replay policy is never queued.
    ///
    /// - Parameter request: the request.
    /// - Returns: the response, whatever its status; or the job, as read after it was queued.
    ///   ``ReplayQueue/failures(of:)`` returns the failure that led to the queue.
    /// - Throws: ``ConnectionError``: the errors of ``send(_:)->Response``. The error is `queued` only if there is no
    ///   job to return: a merge with a waiting job (``ReplayPolicy/Uniqueness/merge``) has left nothing to send, or the
    ///   job cannot be read.
    public func submit(_ request: Request) async throws(ConnectionError) -> Submission<Response> {
        do throws(ConnectionError) { return .sent(try await send(request)) } catch {
            return .queued(try await job(of: error))
        }
    }

    /// Sends a call, as ``send(_:)->Call.Output`` does, and returns its output or its job.
    ///
    /// - Parameter call: the call. Its job stores its ``Endpoint/kind``, so that a handler receives the output later
    ///   (``onReplay(_:decoder:_:)``).
    /// - Returns: the decoded output, or the job.
    /// - Throws: ``ConnectionError``: the errors of ``send(_:)->Call.Output``. `queued` as for
    ///   ``submit(_:)-(Request)``.
    public func submit<Call: Endpoint>(_ call: Call) async throws(ConnectionError) -> Submission<Call.Output> {
        do throws(ConnectionError) { return .sent(try await send(call)) } catch {
            return .queued(try await job(of: error))
        }
    }

    /// Returns the job that an error names as queued. Throws every other error as it is.
    @concurrent
    private func job(of error: ConnectionError) async throws(ConnectionError) -> ReplayJob {
        guard error.code == .queued, let id = error.jobID, let job = try? queue().job(id) else { throw error }
        return job
    }
}
