import HTTPTypes

/// Bodies that go into files.
extension Pipeline {
    /// Returns when the whole body is in the file, and the file has its name. Else there is none.
    func download(_ request: Request, into file: DownloadFile) async throws(ConnectionError) -> Download {
        do throws(ConnectionError) {
            let response = try await pour(continuable(request), into: file)
            do throws(ConnectionError) { try await publish(response, in: file) } catch {
                throw await told(error, Asker())
            }
            return Download(response, in: file)
        } catch {
            file.discard()
            throw error
        }
    }

    private func publish(_ response: Response, in file: DownloadFile) async throws(ConnectionError) {
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        if !file.isComplete { try await file.take(response) }
        try await file.publish()
    }

    /// With bytes on the wire that can be counted, and without a bound on how late the rest may be asked for: a large body
    /// takes its time.
    private func continuable(_ request: Request) -> Request {
        var request = request
        if request.headers[.acceptEncoding] == nil { request.headers[.acceptEncoding] = "identity" }
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
