/// The result of one connection of a batch.
public struct BatchItem: Sendable {
    /// The index of the connection in ``Batch/connections``.
    public let index: Int
    /// The response, whatever its status, or the error; `cancelled` if the connection was canceled.
    public let result: Result<Response, ConnectionError>
}

/// The sequence of ``Batch/items``.
///
/// Nothing is buffered for a slow reader: each iteration has its own index into the one list.
struct BatchItems: AsyncSequence, Sendable {
    typealias Element = BatchItem
    typealias Failure = Never

    struct AsyncIterator: AsyncIteratorProtocol {
        private let batch: Batch
        private var progress: AsyncStream<BatchProgress>.Iterator
        /// The number of items that were returned.
        private var count = 0

        init(_ batch: Batch) {
            self.batch = batch
            progress = batch.progress.makeAsyncIterator()
        }

        mutating func next() async -> BatchItem? {
            if count == 0, !Task.isCancelled { batch.runForWaiter() }
            repeat {
                if let item = nextEnded() { return item }
            } while await progress.next(isolation: #isolation) != nil
            return nil
        }

        private mutating func nextEnded() -> BatchItem? {
            guard let index = batch.coordinator.index(endedAt: count) else { return nil }
            count += 1
            return BatchItem(index: index, result: batch.result(at: index))
        }
    }

    let batch: Batch

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(batch) }
}
