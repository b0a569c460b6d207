/// The states of a query, made by ``Engine/updates(_:every:on:)-(Call,_,_)``. See <doc:ObservingQueries>.
///
/// Each iteration is an observer, from its first element until its iterator is dropped or its task is canceled. It gets the
/// current state, and then each new one. An observer that is slow gets the newest state, and misses those before it. All
/// observers of a query in an engine share its fetches. An iteration ends when the engine is closed, and after the error of a
/// request that cannot be observed.
public struct QueryUpdates<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = QueryState<Value>
    public typealias Failure = Never

    private let open: @Sendable () -> AsyncStream<QueryState<Value>>

    init(_ open: @escaping @Sendable () -> AsyncStream<QueryState<Value>>) { self.open = open }

    /// Creates the only state of a query that cannot be sent.
    init(failure: ConnectionError) {
        open = {
            AsyncStream { continuation in
                continuation.yield(QueryState(error: failure))
                continuation.finish()
            }
        }
    }

    @_documentation(visibility: internal)
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var states: AsyncStream<QueryState<Value>>.Iterator

        public mutating func next(isolation actor: isolated (any Actor)?) async -> QueryState<Value>? {
            await states.next(isolation: actor)
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(states: open().makeAsyncIterator()) }
}
