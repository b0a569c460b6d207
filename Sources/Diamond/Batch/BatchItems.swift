/// The results of a batch's items in the order in which they end: ``Batch/items``. The sequence ends when the batch is
/// over, or when the waiting task is canceled, which cancels nothing else.
///
/// Nothing is buffered for a slow reader: each iteration has its own place in the one list.
public struct BatchItems: AsyncSequence, Sendable {
    public typealias Failure = Never

    /// The result of one connection of a batch.
    public struct Element: Sendable {
        /// The index of the connection in ``Batch/connections``.
        public let index: Int
        /// The response, whatever its status, or the error; `cancelled` where the connection was canceled.
        public let result: Result<Response, ConnectionError>
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let batch: Batch
        private var progress: AsyncStream<BatchProgress>.Iterator
        private var place = 0

        fileprivate init(_ batch: Batch) {
            self.batch = batch
            progress = batch.progress.makeAsyncIterator()
        }

        public mutating func next() async -> Element? {
            repeat {
                if let element = taken() { return element }
            } while await progress.next(isolation: #isolation) != nil
            return nil
        }

        private mutating func taken() -> Element? {
            guard let index = batch.ledger.index(endedAt: place) else { return nil }
            place += 1
            return Element(index: index, result: batch.result(at: index))
        }
    }

    let batch: Batch

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(batch) }
}
