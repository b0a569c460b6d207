import HTTPTypes

/// Bodies that go into files, or to sinks of the app.
extension Pipeline {
    /// Returns when the whole body is where it goes, and a file has its name. Else there is none.
    ///
    /// - Parameter caller: a connection, which may go on with what is there, and throws it away itself; or nobody in
    ///   particular.
    func download(
        _ request: Request,
        into target: any DownloadTarget,
        for caller: Caller = Caller()
    ) async throws(ConnectionError) -> Download {
        do throws(ConnectionError) {
            let response = try await stream(continuable(request), into: target, for: caller)
            do throws(ConnectionError) { try await publish(response, in: target, for: caller) } catch {
                throw await transformed(error, for: caller)
            }
            return Download(response, in: target.file, size: target.size)
        } catch {
            if caller.run == nil { target.discard() }
            throw error
        }
    }

    private func publish(
        _ response: Response,
        in target: any DownloadTarget,
        for caller: Caller
    ) async throws(ConnectionError) {
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        if !target.isComplete { try await take(response, in: target) }
        // Given up from here on, it would be whole, and sent for again.
        guard caller.run?.mayConclude() != false else { throw .cancelled }
        try await accept(response.head, caller)
        // It may have been canceled meanwhile.
        guard caller.run?.mayConclude() != false else { throw .cancelled }
        try await target.publish()
    }

    /// Puts a response that an interceptor has turned into a success, and that is here whole, into the target.
    private func take(_ response: Response, in target: any DownloadTarget) async throws(ConnectionError) {
        do throws(TransportError) {
            guard response.body.count <= target.limit else { throw TransportError(bodyLargerThan: target.limit) }
            try await target.begin(response.head)
            try await target.append(response.body)
        } catch {
            throw ConnectionError(error)
        }
    }

    /// Lets the one who asks say what is wrong before anything is there.
    private func accept(_ head: Response, _ caller: Caller) async throws(ConnectionError) {
        guard let handler = caller.handler else { return }
        _ = try await caller.aside { () async throws(ConnectionError) in try await handler.taken(head, by: []) }
    }

    /// Without a bound on how late the rest may be asked for: a large body takes its time.
    private func continuable(_ request: Request) -> Request {
        var request = request
        var policy = request.retry ?? retry
        policy.window = nil
        request.retry = policy
        return request
    }
}
