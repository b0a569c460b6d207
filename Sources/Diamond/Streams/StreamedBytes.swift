public import Foundation

/// The body of a ``StreamedResponse``, in pieces of any size, read from the wire or the store only as fast as it is
/// consumed: what waits in memory is a few mebibytes at most.
///
/// One consumer, and one iteration. Leaving its loop ends the exchange at once, also where somebody keeps the response,
/// and so does dropping it unread or canceling the task that reads it: another iteration fails with `cancelled`.
public struct StreamedBytes: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = ConnectionError

    private let pieces: BodyStream

    init(_ pieces: BodyStream) { self.pieces = pieces }

    /// Gone with the last copy of an iterator: nobody reads any more.
    private final class Reading: Sendable {
        private let pieces: BodyStream
        init(_ pieces: BodyStream) { self.pieces = pieces }
        deinit { pieces.makeAsyncIterator().abandon() }
    }

    public struct Iterator: AsyncIteratorProtocol {
        private var pieces: BodyStream.Iterator
        private let reading: Reading

        fileprivate init(_ pieces: BodyStream) {
            (self.pieces, reading) = (pieces.makeAsyncIterator(), Reading(pieces))
        }

        /// - Throws: ``ConnectionError``, with the ``ConnectionError/attempts``: `connectionLost`, `timedOut` where nothing
        ///   came for ``Request/timeout``, `bodyTooLarge`, `cancelled` with the waiting task. `connectionLost` also where what
        ///   is stored cannot be read to its end: its cause is a ``CacheError``.
        public mutating func next() async throws(ConnectionError) -> Data? {
            do throws(TransportError) { return try await pieces.next() } catch {
                throw error.cause as? ConnectionError ?? ConnectionError(error)
            }
        }

        /// Nobody reads any more, also where somebody keeps the iterator.
        func abandon() { pieces.abandon() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(pieces) }
}
