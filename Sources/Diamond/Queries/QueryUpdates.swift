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
