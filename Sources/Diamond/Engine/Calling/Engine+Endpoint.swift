/// Typed calls. See <doc:DescribingAnAPI>.
extension Engine {
    /// Sends a call and returns its decoded output.
    ///
    /// Callers that share an exchange each decode for themselves, not on the caller's actor. The caller that opened the
    /// exchange decodes before the response is stored. If its decoding fails, the response is not stored, and earlier
    /// entries stay. Other callers do not influence that, even if they decode another type.
    ///
    /// - Throws: ``ConnectionError``: `badStatus` for a status other than 2xx, and `undecodable`, with the coding path,
    ///   both with the ``ConnectionError/response``, whose body ``ConnectionError/decode(_:using:)`` reads;
    ///   `badRequest` if the call cannot make its request.
    public func send<Call: Endpoint>(_ call: Call) async throws(ConnectionError) -> Call.Output {
        try await response(to: call).value
    }

    /// Sends a call like ``send(_:)->Call.Output``, and returns its decoded output together with the status, the
    /// headers, the source, the age and the metrics of the response.
    ///
    /// - Throws: the errors of ``send(_:)->Call.Output``.
    public func response<Call: Endpoint>(to call: Call) async throws(ConnectionError) -> TypedResponse<Call.Output> {
        let handler = CallHandler(call, decoder: decoder)
        return try await response(to: try handler.request, by: handler)
    }

    /// Returns the response to the request of a call, or to one made from it, such as that of a page.
    func response<Call: Endpoint>(
        to request: Request,
        by handler: CallHandler<Call>
    ) async throws(ConnectionError) -> TypedResponse<Call.Output> {
        let connection = startIfSerial(request, handler: handler.responses)
        return try await typedResponse(to: request, by: handler, connection: connection)
    }

    @concurrent
    private func typedResponse<Call: Endpoint>(
        to request: Request,
        by handler: CallHandler<Call>,
        connection: Connection?
    ) async throws(ConnectionError) -> TypedResponse<Call.Output> {
        let response = try await response(to: request, handler: handler.responses, connection: connection)
        return TypedResponse(try handler.output(of: response), response: response)
    }

    // MARK: Connections

    /// Creates a connection for a call. Add its dependencies, then start it.
    public func connection<Call: Endpoint>(for call: Call) -> CallConnection<Call> {
        let connection = CallConnection(call, decoder: decoder)
        connection.setRegistry(members)
        return connection
    }

    /// Runs a call as a connection, and returns it.
    ///
    /// ```swift
    /// let login = engine.start(Login(user: "ann"))
    /// print(try await login.output.token)
    /// ```
    @discardableResult
    public func start<Call: Endpoint>(_ call: Call) -> CallConnection<Call> {
        let connection = connection(for: call)
        start(connection)
        return connection
    }

    /// Runs calls as connections, and returns these in the order of the calls.
    @discardableResult
    public func start<Call: Endpoint>(_ calls: [Call]) -> [CallConnection<Call>] {
        let connections = calls.map { connection(for: $0) }
        start(connections)
        return connections
    }
}
