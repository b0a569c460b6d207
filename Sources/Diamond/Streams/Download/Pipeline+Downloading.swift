import HTTPTypes

/// Downloads into files or into sinks of the app.
extension Pipeline {
    /// Downloads a body into a target, and returns when it is complete and published. After an error no new file has
    /// the name. A received part that is recorded stays for a later download, unless this one was canceled.
    ///
    /// - Parameter caller: the caller. If it is a connection, it discards the received part itself, because a later run
    ///   may continue it.
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
            if caller.run == nil, !target.staysAfter(error) { target.discard() }
            throw error
        }
    }

    private func publish(
        _ response: Response,
        in target: any DownloadTarget,
        for caller: Caller
    ) async throws(ConnectionError) {
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        if !target.isComplete { try await write(response, into: target) }
        // A pause from here on would abandon a complete body, which would be requested again.
        guard caller.run?.concludeIfAllowed() != false else { throw .cancelled }
        try await validate(response.head, for: caller)
        // The connection may have been canceled since.
        guard caller.run?.concludeIfAllowed() != false else { throw .cancelled }
        try await target.publish()
    }

    /// Writes a complete response, which an interceptor has made a success, into the target.
    private func write(_ response: Response, into target: any DownloadTarget) async throws(ConnectionError) {
        do throws(TransportError) {
            guard response.body.count <= target.limit else { throw TransportError(bodyLargerThan: target.limit) }
            try await target.begin(response.head)
            try await target.append(response.body)
        } catch {
            throw ConnectionError(error)
        }
    }

    /// Lets the handler of the caller reject the response before the file appears.
    private func validate(_ head: Response, for caller: Caller) async throws(ConnectionError) {
        guard let handler = caller.handler else { return }
        _ = try await caller.whileWaiting { () async throws(ConnectionError) in try await handler.handle(head, with: [])
        }
    }

    /// Returns the request without the retry window, because the rest of a large body may be requested late.
    private func continuable(_ request: Request) -> Request {
        var request = request
        var policy = request.retry ?? time.retry
        policy.window = nil
        request.retry = policy
        return request
    }
}
