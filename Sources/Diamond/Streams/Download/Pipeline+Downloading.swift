import HTTPTypes

/// Bodies that go into files, or to sinks of the app.
extension Pipeline {
    /// Returns when the whole body is where it goes, and a file has its name. Else there is none.
    ///
    /// - Parameter asker: a connection, which may go on with what is there, and throws it away itself; or nobody in
    ///   particular.
    func download(
        _ request: Request,
        into target: any DownloadTarget,
        for asker: Asker = Asker()
    ) async throws(ConnectionError) -> Download {
        do throws(ConnectionError) {
            let response = try await pour(continuable(request), into: target, for: asker)
            do throws(ConnectionError) { try await publish(response, in: target, for: asker) } catch {
                throw await told(error, asker)
            }
            return Download(response, in: target.file, size: target.size)
        } catch {
            if asker.claim == nil { target.discard() }
            throw error
        }
    }

    private func publish(
        _ response: Response,
        in target: any DownloadTarget,
        for asker: Asker
    ) async throws(ConnectionError) {
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        if !target.isComplete { try await take(response, in: target) }
        // Given up from here on, it would be whole, and sent for again.
        guard asker.claim?.concludes() != false else { throw .cancelled }
        try await accept(response.head, asker)
        // It may have been canceled meanwhile.
        guard asker.claim?.concludes() != false else { throw .cancelled }
        try await target.publish()
    }

    /// What has become a success where an interceptor has looked at it, and is here whole.
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
    private func accept(_ head: Response, _ asker: Asker) async throws(ConnectionError) {
        guard let acceptance = asker.acceptance else { return }
        _ = try await aside(asker) { () async throws(ConnectionError) in try await acceptance.taken(head, by: []) }
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
