import HTTPTypes

/// Observed queries. See <doc:ObservingQueries>.
extension Engine {
    /// Returns the states of a query: first with the stored value, then with the server's. The value is updated
    /// whenever the query is invalidated, or another caller or process changes its stored response.
    ///
    /// ```swift
    /// for await state in engine.updates(ListCities()) {
    ///     show(state.value, state.error)
    /// }
    /// ```
    ///
    /// ``Request/cache`` decides whether the stored response suffices. Later fetches ask the server. After an error,
    /// which includes a status other than 2xx, the last value stays. The engine is retained while a query is observed.
    ///
    /// Each iteration is an observer, until its iterator is dropped or its task is canceled. It gets the current state,
    /// then each new one. A slow observer gets only the newest state. All observers of a query in an engine share its
    /// fetches. An iteration ends when the engine is closed.
    ///
    /// - Parameters:
    ///   - call: the call, with a safe method, such as GET (RFC 9110 section 9.2.1). With another method, or if the
    ///     call cannot make its request, the only state has the error `badRequest`. A query is never queued.
    ///   - interval: the time after the end of a fetch until the next one; `nil`, the default, for no fetches by time.
    ///     The shortest interval of the query's observers counts.
    ///   - triggers: the events at which a stale value, or one whose last fetch has failed, is fetched again; by
    ///     default all.
    public func updates<Call: Endpoint>(
        _ call: Call,
        every interval: Duration? = nil,
        on triggers: QueryTriggers = .all
    ) -> some AsyncSequence<QueryState<Call.Output>, Never> & Sendable {
        let request: Request
        do throws(ConnectionError) { request = try CallHandler(call, decoder: decoder).request } catch {
            return QueryUpdates<Call.Output>(failure: error)
        }
        let source = QuerySource<Call.Output>(request: request) { [self] request throws(ConnectionError) in
            let typed = try await response(to: request, by: CallHandler(call, decoder: decoder))
            return (typed.value, typed.response)
        } read: { [self] response throws(ConnectionError) in
            let handler = CallHandler(call, decoder: decoder)
            let response = try await pipeline.handled(response, by: Caller(handler: handler.responses))
            return (try handler.output(of: response), response)
        }
        let settings = QuerySettings(interval: interval, triggers: triggers)
        return queries.updates(of: source, call: Call.self, settings: settings)
    }

    /// Returns the states of a query whose values are responses, as ``updates(_:every:on:)-(Call,_,_)`` does.
    public func updates(
        _ request: Request,
        every interval: Duration? = nil,
        on triggers: QueryTriggers = .all
    ) -> some AsyncSequence<QueryState<Response>, Never> & Sendable {
        let source = QuerySource<Response>(request: request) { [self] request throws(ConnectionError) in
            let response = try await successfulResponse(to: request)
            return (response, response)
        } read: { [self] response throws(ConnectionError) in
            let response = try await pipeline.handled(response, by: Caller())
            return (response, response)
        }
        let settings = QuerySettings(interval: interval, triggers: triggers)
        return queries.updates(of: source, call: Response.self, settings: settings)
    }

    /// Fetches the observed queries whose values are stale, or whose last fetch has failed, except queries observed
    /// without ``QueryTriggers/foreground``. Call it on Linux and watchOS. On other platforms the engine itself
    /// notices that the app comes to the foreground.
    public func appDidEnterForeground() { queries.note(.foreground) }
}
