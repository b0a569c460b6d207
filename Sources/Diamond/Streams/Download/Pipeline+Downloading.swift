import HTTPTypes

/// Bodies that go into files.
extension Pipeline {
    /// Returns when the whole body is in the file, and the file has its name. Else there is none.
    ///
    /// - Parameter asker: a connection, which may go on with what is in the file, and throws it away itself; or nobody in
    ///   particular.
    func download(
        _ request: Request,
        into file: DownloadFile,
        for asker: Asker = Asker()
    ) async throws(ConnectionError) -> Download {
        do throws(ConnectionError) {
            let response = try await pour(continuable(request), into: file, for: asker)
            do throws(ConnectionError) { try await publish(response, in: file, for: asker) } catch {
                throw await told(error, asker)
            }
            return Download(response, in: file.url, size: file.size)
        } catch {
            if asker.claim == nil { file.discard() }
            throw error
        }
    }

    private func publish(
        _ response: Response,
        in file: DownloadFile,
        for asker: Asker
    ) async throws(ConnectionError) {
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        if !file.isComplete { try await file.take(response) }
        try await accept(response.head, asker)
        // Given up here, it would be whole, and sent for again.
        guard asker.claim?.concludes() != false else { throw .cancelled }
        try await file.publish()
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

extension DownloadFile {
    /// What the cache has, where nothing else is wanted.
    fileprivate func take(_ response: Response) async throws(ConnectionError) {
        do throws(TransportError) {
            try await begin(response)
            try await append(response.body)
        } catch {
            throw ConnectionError(error)
        }
    }
}
