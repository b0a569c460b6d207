/// Sending requests with a replay policy.
extension Pipeline {
    /// Sends a request with a replay policy, and waits for the end of its first run in this process.
    ///
    /// - Throws: ``ConnectionError``; `queued` if the request is in the queue, and sent later.
    func durableResponse(to request: Request, for caller: Caller) async throws(ConnectionError) -> Response {
        let durable = caller.durableRequest ?? DurableRequest()
        let draft = try await draft(of: request, as: durable, for: caller)
        var sent: Request
        do throws(RequestError) { sent = try Request(json: draft.draft.request) } catch { throw ConnectionError(error) }
        sent.cache = request.cache
        let run = DurableRun(
            sender: JobSender(pipeline: self), durable: durable, draft: draft, request: sent, caller: caller)
        return try await run.response()
    }

    /// Returns the draft of a request, which is made once for all runs.
    private func draft(
        of request: Request, as durable: DurableRequest, for caller: Caller
    ) async throws(ConnectionError) -> DurableRequest.Draft {
        if let draft = durable.draft { return draft }
        guard let replays else {
            let message = "\(request) is to be queued, but the engine has no store: give its configuration one"
            throw ConnectionError(.cannotQueue, message)
        }
        return try await caller.whileWaiting { () async throws(ConnectionError) in
            try await time.left(of: request).value { () async throws(ConnectionError) in
                try await ConnectionError.queueing { () async throws(ReplayError) in
                    try await durable.draft(of: request, for: try replays.open())
                }
            }
        }
    }
}
