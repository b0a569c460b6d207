import HTTPTypes

extension Engine {
    /// Sends a request and returns its response, for this package's other targets.
    ///
    /// - Throws: ``ConnectionError``; `badStatus` for a status other than 2xx.
    package func successfulResponse(to request: Request) async throws(ConnectionError) -> Response {
        let response = try await send(request)
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        return response
    }
}
