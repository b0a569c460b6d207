import Foundation
import HTTPTypes

/// Requests and responses with streamed bodies.
extension Pipeline {
    /// Returns the response to a request, and streams the body of a success into a sink. A body from a server is not
    /// stored, except a part in an engine without interceptors.
    ///
    /// Returns at the end of the body. Until then an exchange holds its permit.
    ///
    /// - Parameter caller: the caller. Its handler validates only a body that is collected in the background.
    /// - Returns: the response, without a body if the sink is complete.
    func stream(
        _ request: Request,
        into sink: any BodySink,
        for caller: Caller = Caller()
    ) async throws(ConnectionError) -> Response {
        let caller = caller.with { $0.sink = sink }
        do throws(ConnectionError) {
            let response = try await untransformedResponse(to: request, for: caller)
            // Interceptors transform only responses with their bodies.
            return sink.isComplete ? response : try await exchangeEnvironment.interceptors.transform(response)
        } catch {
            throw await transformed(error, for: caller)
        }
    }

    /// Returns the response to a request whose body comes from a source. The body has no key: the response is neither
    /// looked up nor stored, and the exchange is not shared.
    func upload(
        _ request: Request,
        from upload: Upload,
        for caller: Caller = Caller()
    ) async throws(ConnectionError) -> Response {
        do throws(ConnectionError) {
            let caller = caller.with { $0.upload = upload }
            return try await directResponse(to: try withQuery(request, for: upload), for: caller)
        } catch {
            throw await transformed(error, for: caller)
        }
    }

    /// Returns the request with its parameters in the query, because its body comes from a source.
    private func withQuery(_ request: Request, for upload: Upload) throws(ConnectionError) -> Request {
        guard !request.isReplayable else {
            let advice = "send a file, or set its replay to .never"
            let message = "\(request) is to be queued, but the body of an upload cannot be stored: \(advice)"
            throw ConnectionError(.cannotQueue, message)
        }
        var request = request
        if request.destination == .automatic { request.destination = .query }
        guard request.body == nil, request.parameters.isEmpty || request.destination == .query else {
            let advice = "leave one of them out, and send parameters in the query"
            let message = "the request has a body, and the upload has a source for the body: \(advice)"
            throw ConnectionError(RequestError(.malformedRequest, message))
        }
        guard !upload.isConsumed else { throw ConnectionError(.consumedSource) }
        return request
    }
}
