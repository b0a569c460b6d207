public import Foundation

/// The body of a response, in pieces, read from the wire only as fast as it is consumed.
///
/// One reader at a time: a second iteration goes on where the first has left off, and two that wait at the same time are an
/// error of the second. Dropping it unread cancels the exchange behind it, and so
/// does canceling the task that reads it.
public struct BodyStream: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = TransportError

    private let consumer: Consumer

    /// A body that is complete.
    public init(_ data: Data) {
        let pipe = BodyPipe(highWater: .max)
        _ = pipe.yield(data)
        pipe.finish(nil)
        self.init(pipe)
    }

    /// A body that somebody else makes, pulled as it is consumed. For transports of your own.
    public init(_ pieces: some AsyncSequence<Data, any Error> & Sendable) {
        self.init(BodyPump.pipe(from: pieces))
    }

    init(_ pipe: BodyPipe) { consumer = Consumer(pipe: pipe) }

    /// Tells the producer when nobody can ask any more.
    fileprivate final class Consumer: Sendable {
        let pipe: BodyPipe
        init(pipe: BodyPipe) { self.pipe = pipe }
        deinit { pipe.abandon() }
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let consumer: Consumer

        public mutating func next() async throws(TransportError) -> Data? { try await consumer.pipe.next() }

        /// Nobody reads any more, also where somebody keeps the stream.
        func abandon() { consumer.pipe.abandon() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(consumer: consumer) }

    /// The whole body. A small one that is here already is returned without waiting.
    ///
    /// - Throws: `bodyTooLarge` as soon as more than `limit` bytes have come.
    public func collect(limit: Int = .max) async throws(TransportError) -> Data {
        try await consumer.pipe.collect(limit: limit)
    }

    /// The whole body where it is here to its end, as small ones are with their heads; else nothing is taken.
    func whole(upTo limit: Int) -> Data? { consumer.pipe.whole(upTo: limit) }

    /// - Parameter whenMore: called with how many bytes have come in all, as they come, on the producer's thread.
    func collect(
        limit: Int,
        whenMore: @escaping @Sendable (Int) -> Void
    ) async throws(TransportError) -> Data {
        try await consumer.pipe.collect(limit: limit, whenMore: whenMore)
    }
}
