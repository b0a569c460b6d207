/// The states of a query, made by ``Engine/updates(_:every:on:)-(Call,_,_)``. See <doc:ObservingQueries>.
///
/// Each iteration is an observer, until its iterator is dropped or its task is canceled. It gets the current state,
/// then each new one. A slow observer gets only the newest state. All observers of a query in an engine share its
/// fetches. An iteration ends when the engine is closed. For a request that cannot be observed, it ends after one state
/// with the error.
public struct QueryUpdates<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = QueryState<Value>
    public typealias Failure = Never

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

    @_documentation(visibility: internal)
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var states: AsyncStream<QueryState<Value>>.Iterator

        public mutating func next(isolation actor: isolated (any Actor)?) async -> QueryState<Value>? {
            await states.next(isolation: actor)
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(states: open().makeAsyncIterator()) }
}
