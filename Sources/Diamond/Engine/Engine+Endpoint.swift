import Foundation
import HTTPTypes

extension Engine {
    /// Sends a call and decodes its body.
    ///
    /// Of those who share an exchange, each decodes for itself, and none on the caller's actor: the one that has opened it
    /// before the answer is stored. What that one cannot decode is not stored, and what was stored before stays. Any other,
    /// also where it is of another type, changes nothing about that.
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

    /// Its request; one that is kept has the call's kind, so that who has asked for such calls gets the output later.
    func request<Call: Endpoint>(of call: Call) -> Request {
        var request = call.request
        if request.isKept, request.replay.kind == nil { request.replay.kind = Call.kind }
        return request
    }

    /// What a call makes of responses.
    func handler<Call: Endpoint>(of call: Call) -> ResponseHandler {
        ResponseHandler { [decoder] response throws(ConnectionError) in
            guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
            return Decoded(output: try response.output(of: call, default: decoder))
        }
    }

    /// What the response of a call has become.
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
