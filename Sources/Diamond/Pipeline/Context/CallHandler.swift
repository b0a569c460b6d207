import HTTPTypes

/// Makes the request of a typed call, and validates and decodes its response, once.
struct CallHandler<Call: Endpoint>: Sendable {
    let call: Call
    /// The call's own decoder, or the engine's.
    let decoder: any ResponseDecoder
    /// Validates and decodes the response before it is stored.
    let responses: ResponseHandler

    /// - Parameter decoder: the engine's decoder.
    init(_ call: Call, decoder: any ResponseDecoder) {
        let decoder = call.decoder ?? decoder
        self.call = call
        self.decoder = decoder
        responses = ResponseHandler { response throws(ConnectionError) in
            Decoded(output: try response.successfulOutput(as: Call.self, using: decoder))
        }
    }

    /// The request of the call. A durable request gets the call's kind, by which the handler of the result is found.
    ///
    /// - Throws: ``ConnectionError`` `badRequest` if the call cannot make the request.
    var request: Request {
        get throws(ConnectionError) {
            var request: Request
            do { request = try call.request } catch { throw ConnectionError(unmade: Call.self, error) }
            if request.isReplayable, request.replay.kind == nil { request.replay.kind = Call.kind }
            return request
        }
    }

    /// Returns the output of a response. It is decoded now unless the handler has decoded it already.
    func output(of response: Response) throws(ConnectionError) -> Call.Output {
        if let decoded = responses.value as? Decoded<Call.Output> { return decoded.output }
        return try response.successfulOutput(as: Call.self, using: decoder)
    }
}

// A wrapper, because a decoded `nil` differs from a missing output.
private struct Decoded<Output: Sendable>: Sendable {
    let output: Output
}

extension Response {
    /// Returns the output of a call.
    ///
    /// - Throws: ``ConnectionError`` `badStatus` for a status other than 2xx, `undecodable`.
    func successfulOutput<Call: Endpoint>(
        as type: Call.Type,
        using decoder: any ResponseDecoder
    ) throws(ConnectionError) -> Call.Output {
        guard status.kind == .successful else { throw ConnectionError(badStatus: self) }
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

extension ConnectionError {
    /// Creates the error of a call that cannot make its request.
    fileprivate init(unmade call: Any.Type, _ error: any Error) {
        switch error {
        case let error as ConnectionError: self = error
        case let error as RequestError: self.init(error)
        default: self.init(.badRequest, "the call \(call) could not make its request: see the cause", cause: error)
        }
    }
}
