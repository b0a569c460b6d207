import HTTPTypes

extension Engine {
    /// Sends a request and returns its successful response, for this package's other targets.
    ///
    /// - Throws: ``ConnectionError``; `badStatus` for a status other than 2xx.
    package func successfulResponse(to request: Request) async throws(ConnectionError) -> Response {
        let response = try await send(request)
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        return response
    }

    /// Sends a request and returns an output made from its response, for this package's other targets. If `accept`
    /// throws, the response is not stored, and earlier entries stay.
    ///
    /// - Throws: ``ConnectionError``; `badStatus` for a status other than 2xx. Errors of `accept`.
    package func output<Output: Sendable>(
        of request: Request, _ accept: @escaping @Sendable (Response) throws -> Output
    ) async throws -> Output {
        let handler = ResponseHandler { response throws(ConnectionError) in
            guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
            do { return Accepted(output: try accept(response)) } catch {
                throw ConnectionError(undecodable: response, as: Output.self, Refusal(reason: error))
            }
        }
        do {
            let connection = startIfSerial(request, handler: handler)
            let response = try await response(to: request, handler: handler, connection: connection)
            return try (handler.value as? Accepted<Output>)?.output ?? accept(response)
        } catch let error as ConnectionError {
            throw (error.cause as? Refusal)?.reason ?? error
        }
    }
}

// A wrapper, because the output may be an optional.
private struct Accepted<Output: Sendable>: Sendable {
    let output: Output
}

/// An error of the caller's `accept`, distinct from the engine's errors.
private struct Refusal: Error {
    let reason: any Error
}

extension Engine {
    /// Saves a durable request as a job and sends it unless other jobs come first, for this package's other targets.
    ///
    /// - Parameter whenSaved: called when the job is on disk.
    /// - Throws: ``ConnectionError``; `queued` if it is sent later, `badStatus` for a status other than 2xx.
    package func durableResponse(
        to request: Request, whenSaved: @escaping @Sendable () -> Void
    ) async throws(ConnectionError) -> Response {
        guard !lanes.isSerial(request.lane) else { return try await successfulResponse(to: request) }
        let durable = DurableRequest(whenQueued: whenSaved)
        let response = try await pipeline.response(to: request, for: Caller(durableRequest: durable))
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        return response
    }

    /// Returns the identity for which this engine sends a request now; `nil` for none.
    package func identity(of request: Request) async throws(ConnectionError) -> String? {
        try await pipeline.environment.resolve(request, within: pipeline.time.left(of: request)).identity
    }

    /// Whether a request names an identity, or a provider may name one, for this package's other targets.
    package func mayNameIdentity(of request: Request) -> Bool {
        request.identity != nil || pipeline.environment.provider != nil
    }

    /// Returns a request with the engine's base URL, headers and identity rules, for this package's other targets.
    ///
    /// - Throws: ``ConnectionError`` `badRequest` for a relative URL that leads away from the base URL.
    package func completed(_ request: Request) throws(ConnectionError) -> Request {
        var completed = request
        // The engine's secrets are secrets of the request's headers and parameters, too.
        completed.rules = pipeline.environment.rules.own.union(request.rules)
        try pipeline.environment.complete(&completed)
        return completed
    }

    /// Returns the absolute URL of a request, for this package's other targets.
    ///
    /// - Throws: ``ConnectionError`` `badRequest` for a relative URL that leads away from the base URL.
    package func url(of request: Request) throws(ConnectionError) -> String {
        do throws(MalformedURL) { return try request.resolvedURL(within: pipeline.environment.baseURL) } catch {
            throw ConnectionError(RequestError(error))
        }
    }
}
