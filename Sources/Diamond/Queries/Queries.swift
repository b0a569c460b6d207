import DiamondSQLite
import HTTPTypes

/// The observed queries of an engine. A query exists while it has an observer. Without queries, nothing runs.
final class Queries: Sendable {
    private struct State {
        var open: [QueryKey: any AnyQuery] = [:]
        /// The sources of signals; `nil` while no query is observed.
        var watch: QueryWatch?
        var isClosed = false
    }

    private let state = Guarded(State())
    private let pipeline: Pipeline

    init(over pipeline: Pipeline) { self.pipeline = pipeline }

    /// Returns the states of a query. Each iteration observes it from its start.
    ///
    /// - Parameter call: the type of the call.
    func updates<Value: Sendable>(
        of source: QuerySource<Value>, call: any Any.Type, settings: QuerySettings
    ) -> QueryUpdates<Value> {
        guard source.request.method.isSafe else { return QueryUpdates(failure: Self.unsafe(source.request)) }
        let key = QueryKey(call: ObjectIdentifier(call), request: source.request)
        return QueryUpdates { [self] in states(of: source, key: key, settings: settings) }
    }

    private static func unsafe(_ request: Request) -> ConnectionError {
        let advice = "observe a request with a safe method, such as GET or QUERY"
        return ConnectionError(.badRequest, "\(request) cannot be observed, because it may change something: \(advice)")
    }

    /// Returns the states of a query from now on. All observers of a key share one query. The stream keeps only the
    /// newest state. It ends when the engine is closed.
    private func states<Value: Sendable>(
        of source: QuerySource<Value>, key: QueryKey, settings: QuerySettings
    ) -> AsyncStream<QueryState<Value>> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            guard let (query, number) = join(source, key: key, settings: settings, continuation) else {
                return continuation.finish()
            }
            continuation.onTermination = { [self] _ in leave(query, as: number, key: key) }
        }
    }

    private func join<Value: Sendable>(
        _ source: QuerySource<Value>, key: QueryKey, settings: QuerySettings, _ observer: Query<Value>.Observer
    ) -> (query: Query<Value>, number: Int)? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            let query = state.open[key] as? Query<Value> ?? Query(source, over: pipeline)
            if state.watch == nil { state.watch = QueryWatch(pipeline) { [weak self] in self?.note($0) } }
            state.open[key] = query
            return (query, query.add(observer, with: settings))
        }
    }

    private func leave<Value: Sendable>(_ query: Query<Value>, as number: Int, key: QueryKey) {
        // Both are released outside the lock. An observer may hold values of the app.
        let (observer, watch) = state.withLock { state -> (Query<Value>.Observer?, QueryWatch?) in
            let removed = query.remove(number)
            guard removed.wasLast, state.open[key] as AnyObject? === query else { return (removed.observer, nil) }
            state.open[key] = nil
            guard state.open.isEmpty else { return (removed.observer, nil) }
            defer { state.watch = nil }
            return (removed.observer, state.watch)
        }
        watch?.stop()
        withExtendedLifetime(observer) {}
    }

    /// Passes a signal to every query.
    func note(_ signal: QuerySignal) {
        for query in state.withLock({ Array($0.open.values) }) { query.note(signal) }
    }

    /// Whether a query is observed.
    var isObserved: Bool { state.withLock { !$0.open.isEmpty } }

    /// Ends the sequences of all observers, now and later.
    func close() {
        let (open, watch) = state.withLock { state in
            state.isClosed = true
            defer { state.watch = nil }
            return (Array(state.open.values), state.watch)
        }
        watch?.stop()
        for query in open { query.finish() }
    }
}

/// The identity of a query within an engine: the type of the call, and its request.
struct QueryKey: Hashable, Sendable {
    let call: ObjectIdentifier
    let request: Request
}

/// The sequence of ``Engine/updates(_:every:on:)-(Call,_,_)``. Each iteration is an observer.
struct QueryUpdates<Value: Sendable>: AsyncSequence, Sendable {
    typealias Element = QueryState<Value>
    typealias Failure = Never

    private let open: @Sendable () -> AsyncStream<QueryState<Value>>

    init(_ open: @escaping @Sendable () -> AsyncStream<QueryState<Value>>) { self.open = open }

    /// Creates a sequence of one state, for a query that cannot be observed.
    init(failure: ConnectionError) {
        open = {
            AsyncStream { continuation in
                continuation.yield(QueryState(error: failure))
                continuation.finish()
            }
        }
    }

    func makeAsyncIterator() -> AsyncStream<QueryState<Value>>.Iterator { open().makeAsyncIterator() }
}
