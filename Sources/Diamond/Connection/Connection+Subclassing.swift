import DiamondSQLite

/// Asking the open methods of a subclass; a plain connection is asked nothing.
extension Connection {
    /// Whether its open methods do nothing.
    var isPlain: Bool { type(of: self) == Connection.self }

    /// The request with what its dependencies have brought, prepared.
    ///
    /// - Parameter pipeline: knows how long that may take.
    func preparedRequest(_ run: ConnectionRun, for pipeline: Pipeline) async throws(ConnectionError) -> Request {
        if let prepared = core.withLock({ $0.isPrepared ? $0.handed.value : nil }) { return prepared }
        let request = try handedRequest(for: run)
        // What it waits for may be a connection of this engine.
        run.stepAside(true)
        defer { run.stepAside(false) }
        let prepared = try await pipeline.time.left(of: request).value { [self] () async throws(ConnectionError) in
            try await self.prepared(request)
        }
        // Code that does not obey its cancellation may come back when the next run has its own.
        core.withLock { core in
            if core.run === run { (core.handed, core.isPrepared) = (.some(prepared), true) }
        }
        return prepared
    }

    private func prepared(_ request: Request) async throws(ConnectionError) -> Request {
        var prepared = request
        do { try await Hook.run { try await prepare(&prepared) } } catch {
            throw ConnectionError(.preparationFailed, "\(request) could not be prepared: see the cause", cause: error)
        }
        return prepared
    }

    /// Makes it one of a typed call.
    func take(by handler: ResponseHandler?) { core.withLock { $0.handler = handler } }

    /// What this kind of connection makes of a response that was stored: the same, or an error.
    func taken(_ stored: ConnectionLife.Outcome) -> ConnectionLife.Outcome {
        guard !isPlain, case .success(let response) = stored else { return stored }
        do throws(ConnectionError) {
            try look(at: response)
            // The body of a download is in its file.
            if file == nil { try take(response) }
            return stored
        } catch {
            return .failure(error)
        }
    }

    /// What this kind of connection makes of an answer; `nil` where it takes it as it is.
    var ownHandler: ResponseHandler? {
        guard !isPlain else { return nil }
        let look: ResponseHandler.Take = { [self] response throws(ConnectionError) in
            try self.look(at: response)
            return nil
        }
        return ResponseHandler(look: look) { [self] response throws(ConnectionError) in
            try self.look(at: response)
            try take(response)
            return nil
        }
    }

    private func look(at response: Response) throws(ConnectionError) {
        do { try validate(response) } catch { throw ConnectionError(invalid: response, error) }
    }

    private func take(_ response: Response) throws(ConnectionError) {
        do { try decode(response) } catch {
            throw ConnectionError(undecodable: response, as: type(of: self), error)
        }
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

    fileprivate init(invalid response: Response, _ error: any Error) {
        let place = RequestURL.masked(Array(response.url.utf8))
        self.init(.invalidResponse, "the answer of \(place) is refused: see the cause", cause: error)
        (self.response, attempts) = (response, response.attempts)
    }
}
