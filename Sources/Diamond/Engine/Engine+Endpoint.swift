import Foundation
import HTTPTypes

extension Engine {
    /// Sends a call and decodes its body.
    ///
    /// Callers that share an exchange each decode for themselves, and none on the caller's actor. The caller that
    /// opened the exchange decodes before the answer is stored. If it cannot decode the answer, the answer is not
    /// stored, and what was stored before stays. No other caller has an influence on that, even one with another type.
    ///
    /// - Throws: ``ConnectionError``: `badStatus` for a status other than 2xx, and `undecodable`, with the coding path,
    ///   both with the ``ConnectionError/response``, whose body ``ConnectionError/decode(_:using:)`` reads.
    public func send<Call: Endpoint>(_ call: Call) async throws(ConnectionError) -> Call.Output {
        let (request, handler) = (request(of: call), handler(of: call))
        return try await output(of: call, request, handler, placed(request, handler))
    }

    @concurrent
    private func output<Call: Endpoint>(
        of call: Call,
        _ request: Request,
        _ handler: ResponseHandler,
        _ connection: Connection?
    ) async throws(ConnectionError) -> Call.Output {
        try output(of: call, from: try await response(to: request, handler, connection), handler)
    }

    /// Returns the request of a call. A kept request gets the call's kind, so that a handler of such calls gets the
    /// output later.
    func request<Call: Endpoint>(of call: Call) -> Request {
        var request = call.request
        if request.isReplayable, request.replay.kind == nil { request.replay.kind = Call.kind }
        return request
    }

    /// Returns the handler that checks and decodes the responses of a call.
    func handler<Call: Endpoint>(of call: Call) -> ResponseHandler {
        ResponseHandler { [decoder] response throws(ConnectionError) in
            guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
            return Decoded(output: try response.output(of: call, default: decoder))
        }
    }

    /// Returns the output of a call: the one that the handler has decoded, else the response decoded now.
    func output<Call: Endpoint>(
        of call: Call,
        from response: Response,
        _ handler: ResponseHandler
    ) throws(ConnectionError) -> Call.Output {
        if let decoded = handler.value as? Decoded<Call.Output> { return decoded.output }
        return try response.output(of: call, default: decoder)
    }
}

// Around it, because a `nil` that has been decoded is no missing one.
private struct Decoded<Output: Sendable>: Sendable {
    let output: Output
}

extension Response {
    fileprivate func output<Call: Endpoint>(
        of call: Call,
        default decoder: any ResponseDecoder
    ) throws(ConnectionError) -> Call.Output {
        try output(as: Call.self, call.decoder ?? decoder)
    }

    func output<Call: Endpoint>(
        as type: Call.Type,
        _ decoder: any ResponseDecoder
    ) throws(ConnectionError) -> Call.Output {
        if let absence = absence(of: Call.Output.self) { return absence }
        if let data = body as? Call.Output { return data }
        if let nothing = Nothing() as? Call.Output { return nothing }
        do {
            return try decoder.value(of: Call.Output.self, in: self)
        } catch {
            throw ConnectionError(undecodable: self, as: Call.Output.self, error)
        }
    }
}
