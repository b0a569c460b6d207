import DiamondSQLite

/// Asking the open methods of a subclass; a plain connection is asked nothing.
extension Connection {
    private var isPlain: Bool { type(of: self) == Connection.self }

    /// The request with what its dependencies have brought, prepared.
    func preparedRequest(_ claim: FlightClaim) async throws(ConnectionError) -> Request {
        let request = try handedRequest()
        guard !isPlain, !core.withLock({ $0.isPrepared }) else { return request }
        // What it waits for may be a connection of this engine.
        claim.step(aside: true)
        defer { claim.step(aside: false) }
        var prepared = request
        do { try await prepare(&prepared) } catch {
            throw ConnectionError(.preparationFailed, "\(request) could not be prepared: see the cause", cause: error)
        }
        core.withLock { [prepared] in ($0.handed, $0.isPrepared) = (.some(prepared), true) }
        return prepared
    }

    /// What this kind of connection says of an answer before it is stored; `nil` for nothing.
    var validation: Validation? {
        guard !isPlain else { return nil }
        return Validation(kind: ObjectIdentifier(type(of: self))) { [self] in try validate($0) }
    }

    /// Looks at a response before anybody is told.
    func accept(_ response: Response) throws(ConnectionError) -> Response {
        guard !isPlain else { return response }
        // What has just come has been looked at before it was stored.
        if response.source != .network, let refusal = validation?.refusal(of: response) { throw refusal }
        do { try decode(response) } catch {
            throw ConnectionError(undecodable: response, as: type(of: self), error)
        }
        return response
    }
}

extension ConnectionError {
    /// - Parameter type: what it was to become, or what was to make something of it.
    init(undecodable response: Response, as type: Any.Type, _ error: any Error) {
        let place = RequestURL.masked(Array(response.url.utf8))
        let reason = (error as? DecodingError)?.reason ?? "see the cause"
        self.init(
            .undecodable, "the answer of \(place) is no \(type): \(reason)".printable, cause: error)
        self.response = response
        attempts = response.attempts
    }
}
