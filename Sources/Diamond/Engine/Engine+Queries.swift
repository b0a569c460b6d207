import HTTPTypes

/// Observed queries. See <doc:ObservingQueries>.
extension Engine {
    /// Returns the states of a query: its stored value, then the server's, then a new one whenever the query is invalidated, or
    /// its stored response is changed by another process.
    ///
    /// ```swift
    /// for await state in engine.updates(ListCities()) {
    ///     show(state.value, state.error)
    /// }
    /// ```
    ///
    /// ``Request/cache`` decides whether the stored response suffices. Later fetches ask the server. An error, also a status
    /// other than 2xx, does not remove the last value. The engine is retained while a query is observed.
    ///
    /// - Parameters:
    ///   - call: the call, with a safe method, such as GET (RFC 9110 section 9.2.1). For another method, and for a call
    ///     that cannot make its request, the only state has the error `badRequest`. A query is never queued.
    ///   - interval: the time after the end of a fetch until the next one; `nil`, the default, for none by time. The shortest
    ///     interval among the query's observers counts.
    ///   - occasions: the events at which a stale value is fetched again; by default the return of the network, and of the app
    ///     to the foreground.
    public func updates<Call: Endpoint>(
        _ call: Call,
        every interval: Duration? = nil,
        on occasions: QueryOccasions = .all
    ) -> QueryUpdates<Call.Output> {
        let request: Request
        do throws(ConnectionError) { request = try handler(of: call).request } catch {
            return QueryUpdates(failure: error)
        }
        let source = QuerySource<Call.Output>(request: request) { [self] request throws(ConnectionError) in
            let typed = try await response(to: request, by: handler(of: call))
            return (typed.value, typed.response)
        }
        let settings = QuerySettings(interval: interval, occasions: occasions)
        return queries.updates(of: source, call: Call.self, settings: settings)
    }

    /// Returns the states of a query whose values are responses, as ``updates(_:every:on:)-(Call,_,_)`` does.
    public func updates(
        _ request: Request,
        every interval: Duration? = nil,
        on occasions: QueryOccasions = .all
    ) -> QueryUpdates<Response> {
        let source = QuerySource<Response>(request: request) { [self] request throws(ConnectionError) in
            let response = try await successfulResponse(to: request)
            return (response, response)
        }
        let settings = QuerySettings(interval: interval, occasions: occasions)
        return queries.updates(of: source, call: Response.self, settings: settings)
    }

    /// Fetches the observed queries whose values are stale, or whose last fetch has failed, except those without
    /// ``QueryOccasions/foreground``. On Apple platforms the engine itself notices that the app comes to the foreground, except
    /// on watchOS.
    public func appDidEnterForeground() { queries.note(.foreground) }
}
