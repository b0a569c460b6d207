import DiamondSQLite

/// Calls to the open methods of a subclass. A plain connection has none.
extension Connection {
    /// Returns the request with the changes of the dependencies and of ``prepare(_:)``.
    ///
    /// - Parameter pipeline: the pipeline that limits the time.
    func preparedRequest(for run: ConnectionRun, in pipeline: Pipeline) async throws(ConnectionError) -> Request {
        if let prepared = core.withLock({ $0.isPrepared ? $0.updatedRequest.value : nil }) { return prepared }
        let request = try updatedRequest(for: run)
        // `prepare(_:)` may wait for a connection of the same engine.
        run.setWaiting(true)
        defer { run.setWaiting(false) }
        let prepared = try await pipeline.time.left(of: request).value { [self] () async throws(ConnectionError) in
            try await self.prepared(request)
        }
        // Code that ignores its cancellation may return after the next run has prepared the request.
        core.withLock { core in
            guard core.run === run else { return }
            core.updatedRequest = .some(prepared)
            core.isPrepared = true
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

    /// Sets the response handler of a typed call.
    func setHandler(_ handler: ResponseHandler?) { core.withLock { $0.handler = handler } }

    /// Returns a stored outcome after the subclass has validated and decoded its response: the same outcome, or an
    /// error.
    func validatedOutcome(of stored: ConnectionLife.Outcome) -> ConnectionLife.Outcome {
        guard !isPlain, case .success(let response) = stored else { return stored }
        do throws(ConnectionError) {
            try check(response)
            // The body of a download is in its file.
            if file == nil { try decodeBody(of: response) }
            return stored
        } catch {
            return .failure(error)
        }
    }

    /// The handler with which the subclass validates and decodes responses; `nil` for a plain connection.
    var ownHandler: ResponseHandler? {
        guard !isPlain else { return nil }
        let check: ResponseHandler.Handle = { [self] response throws(ConnectionError) in
            try self.check(response)
            return nil
        }
        return ResponseHandler(preview: check) { [self] response throws(ConnectionError) in
            try self.check(response)
            try decodeBody(of: response)
            return nil
        }
    }

    private func check(_ response: Response) throws(ConnectionError) {
        do { try validate(response) } catch { throw ConnectionError(invalid: response, error) }
    }

    private func decodeBody(of response: Response) throws(ConnectionError) {
        do { try decode(response) } catch {
            throw ConnectionError(undecodable: response, as: type(of: self), error)
        }
    }
}

extension ConnectionError {
    fileprivate init(invalid response: Response, _ error: any Error) {
        let place = RequestURL.masked(Array(response.url.utf8))
        self.init(.invalidResponse, "the response of \(place) was refused: see the cause", cause: error)
        self.response = response
        attempts = response.attempts
    }
}
