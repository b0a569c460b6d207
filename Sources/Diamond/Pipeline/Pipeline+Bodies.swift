import Foundation
import HTTPTypes

/// Responses whose bodies go into sinks, and requests whose bodies come from sources.
extension Pipeline {
    /// Returns the response to a request, with the body of a success in a sink; a body that comes from a server is not stored.
    ///
    /// Returns at the end of the body; until then a request that a server answers holds its permit.
    ///
    /// - Parameter caller: its handler looks only at a body that is collected in the background.
    /// - Returns: where the sink is complete a response without body.
    func stream(
        _ request: Request,
        into sink: any BodySink,
        for caller: Caller = Caller()
    ) async throws(ConnectionError) -> Response {
        let caller = caller.receiving(into: sink)
        do throws(ConnectionError) {
            let response = try await untransformedResponse(to: request, for: caller)
            // An interceptor that transforms a response looks at its body.
            return sink.isComplete ? response : try await wire.interceptors.transform(response)
        } catch {
            throw await transformed(error, for: caller)
        }
    }

    /// Returns the response to a request whose body comes from a source. No key tells what that holds: the response is neither
    /// looked up nor stored, and the exchange is not shared.
    func upload(
        _ request: Request,
        _ upload: Upload,
        for caller: Caller = Caller()
    ) async throws(ConnectionError) -> Response {
        do throws(ConnectionError) {
            return try await unkeptResponse(to: try carrying(request, upload), for: caller.uploading(upload))
        } catch {
            throw await transformed(error, for: caller)
        }
    }

    /// Returns a request that a body is added to: its parameters go to the query.
    private func carrying(_ request: Request, _ upload: Upload) throws(ConnectionError) -> Request {
        guard !request.isReplayable else {
            let advice = "send a file, or set its replay to .never"
            let message = "\(request) is to be kept, and its body is there only while it is sent: \(advice)"
            throw ConnectionError(.cannotQueue, message)
        }
        var request = request
        if request.destination == .automatic { request.destination = .query }
        guard request.body == nil, request.parameters.isEmpty || request.destination == .query else {
            let advice = "leave one of them out, and send parameters in the query"
            let message = "the request has a body of its own beside the source of its upload: \(advice)"
            throw ConnectionError(RequestError(.malformedRequest, message))
        }
        guard !upload.isConsumed else { throw ConnectionError(.consumedSource) }
        return request
    }
}
