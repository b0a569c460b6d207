import Foundation
import HTTPTypes

extension Engine {
    /// Sends a call and decodes its body.
    ///
    /// Callers that share an exchange each decode for themselves, not on the caller's actor. The caller that opened the
    /// exchange decodes before the response is stored. If its decoding fails, the response is not stored, and earlier entries
    /// stay. Other callers do not influence that, even if they decode another type.
    ///
    /// - Throws: ``ConnectionError``: `badStatus` for a status other than 2xx, and `undecodable`, with the coding path,
    ///   both with the ``ConnectionError/response``, whose body ``ConnectionError/decode(_:using:)`` reads.
    public func send<Call: Endpoint>(_ call: Call) async throws(ConnectionError) -> Call.Output {
        let request = request(of: call)
        let handler = handler(of: call)
        let connection = enqueueIfSerial(request, handler: handler)
        return try await output(of: call, request: request, handler: handler, connection: connection)
    }

    @concurrent
    private func output<Call: Endpoint>(
        of call: Call,
        request: Request,
        handler: ResponseHandler,
        connection: Connection?
    ) async throws(ConnectionError) -> Call.Output {
        let response = try await response(to: request, handler: handler, connection: connection)
        return try output(of: call, from: response, handler: handler)
    }

    /// Returns the request of a call. A durable request gets the call's kind, by which the handler of such calls is found
    /// later.
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

    /// Returns the output of a call, which the handler has decoded or this decodes now.
    func output<Call: Endpoint>(
        of call: Call,
        from response: Response,
        handler: ResponseHandler
    ) throws(ConnectionError) -> Call.Output {
        if let decoded = handler.value as? Decoded<Call.Output> { return decoded.output }
        return try response.output(of: call, default: decoder)
    }
}

// A wrapper, because a decoded `nil` differs from a missing output.
private struct Decoded<Output: Sendable>: Sendable {
    let output: Output
}

extension Response {
    fileprivate func output<Call: Endpoint>(
        of call: Call,
        default decoder: any ResponseDecoder
    ) throws(ConnectionError) -> Call.Output {
        try output(as: Call.self, using: call.decoder ?? decoder)
    }

    func output<Call: Endpoint>(
        as type: Call.Type,
        using decoder: any ResponseDecoder
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
