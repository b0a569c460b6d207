public import Foundation

/// The body of a response as a sequence of pieces, read from the wire only as fast as it is consumed.
///
/// It has one reader at a time. A second iteration continues at the first's position. If two readers wait at the same
/// time, the second gets an error. Dropping the stream unread cancels its exchange. Canceling the task that
/// reads it does so, too.
public struct BodyStream: AsyncSequence, Sendable {
    private let consumer: Consumer

    /// Creates a complete body.
    public init(_ data: Data) {
        let pipe = BodyPipe(highWater: .max)
        _ = pipe.yield(data)
        pipe.finish(nil)
        self.init(pipe)
    }

    /// Creates a body from a sequence of pieces, which is read as the body is consumed. For custom transports.
    public init(_ pieces: some AsyncSequence<Data, any Error> & Sendable) {
        self.init(BodyPipe.reading(pieces))
    }

    init(_ pipe: BodyPipe) { consumer = Consumer(pipe: pipe) }

    /// Stops the producer when the stream and its iterators are deallocated.
    fileprivate final class Consumer: Sendable {
        let pipe: BodyPipe
        init(pipe: BodyPipe) { self.pipe = pipe }
        deinit { pipe.abandon() }
    }

    @_documentation(visibility: internal)
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let consumer: Consumer

        public mutating func next() async throws(TransportError) -> Data? { try await consumer.pipe.next() }

        /// Stops reading, even if the stream is still referenced.
        func abandon() { consumer.pipe.abandon() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(consumer: consumer) }

    /// Returns the whole body, without waiting if it has already arrived.
    ///
    /// - Throws: `bodyTooLarge` as soon as more than `limit` bytes have arrived.
    public func collect(limit: Int = .max) async throws(TransportError) -> Data {
        try await consumer.pipe.collect(limit: limit)
    }

    /// Returns the whole body if all of it has arrived, as small bodies do with the head; otherwise reads nothing and
    /// returns `nil`.
    func arrivedBody(upTo limit: Int) -> Data? { consumer.pipe.arrivedBody(upTo: limit) }

    /// Returns the whole body, and reports its progress.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of bytes.
    ///   - onProgress: called with the number of bytes so far, on the producer's thread.
    func collect(
        limit: Int,
        onProgress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportError) -> Data {
        try await consumer.pipe.collect(limit: limit, onProgress: onProgress)
    }
}
