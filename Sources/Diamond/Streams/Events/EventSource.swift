import HTTPTypes

/// The source of a sequence of events.
struct EventSource: Sendable {
    let request: Request
    let pipeline: Pipeline
    /// The event id after which the first connection asks for events; empty for none.
    let lastEventID: String
    /// The greatest size of an event in bytes.
    let limit: Int

    private static let mediaType = "text/event-stream"
    private static let lastEventIDName = HTTPField.Name("Last-Event-ID")

    var reconnection: Reconnection { Reconnection(request, request.retry ?? pipeline.time.retry) }

    /// Connects.
    ///
    /// - Returns: the body; `nil` if the server says that there are no more events (204).
    /// - Throws: ``ConnectionError``; `badStatus` or `badContentType`, with the response, if it is no stream of events.
    func open(after lastEventID: String, retry: RetryPolicy) async throws(ConnectionError) -> StreamedBytes? {
        let response = try await StreamSession.open(
            request(after: lastEventID, retry: retry), limit: .max, over: pipeline)
        switch response.status {
        case .noContent: return nil
        case .ok: break
        default: throw ConnectionError(badStatus: response.head)
        }
        guard MediaType(response.headers.single(.contentType)).essence == Self.mediaType else {
            throw ConnectionError(badContentType: response.head, expected: Self.mediaType)
        }
        return response.pieces
    }

    private func request(after lastEventID: String, retry: RetryPolicy) -> Request {
        var request = request
        request.retry = retry
        // A stored stream would repeat old events.
        if request.cache.mode != .cacheOnly { request.cache = .noStore }
        if request.headers[.accept] == nil { request.headers[.accept] = Self.mediaType }
        if request.headers[.cacheControl] == nil { request.headers[.cacheControl] = "no-store" }
        if let name = Self.lastEventIDName, !lastEventID.isEmpty { request.headers[name] = lastEventID }
        return request
    }
}
