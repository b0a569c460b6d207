public import Foundation

/// The body of a ``StreamedResponse``, in pieces of any size. It is read from the wire or the store only as fast as it
/// is consumed. At most a few mebibytes are in memory. ``CurlTransport`` over HTTP/2, and ``URLSessionTransport`` on
/// Linux, hold more of a body that is consumed slowly.
///
/// It has one consumer and one iteration. Leaving its loop ends the exchange at once, even if the response is retained.
/// So does dropping it unread, or canceling the task that reads it. Another iteration fails with `cancelled`.
///
/// An iteration throws ``ConnectionError``, with the ``ConnectionError/attempts``: `connectionLost`; `timedOut` if
/// nothing came for ``Request/timeout``; `bodyTooLarge`; `cancelled` with the waiting task. It is `connectionLost`,
/// with a ``CacheError`` as the cause, if a stored body cannot be read to its end.
public struct StreamedBytes: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = ConnectionError

    private let pieces: BodyStream

    init(_ pieces: BodyStream) { self.pieces = pieces }

    /// Ends the reading when the last copy of an iterator is released.
    private final class Reading: Sendable {
        private let pieces: BodyStream
        init(_ pieces: BodyStream) { self.pieces = pieces }
        deinit { pieces.makeAsyncIterator().abandon() }
    }

    @_documentation(visibility: internal)
    public struct Iterator: AsyncIteratorProtocol {
        private var pieces: BodyStream.Iterator
        private let reading: Reading

        fileprivate init(_ pieces: BodyStream) {
            self.pieces = pieces.makeAsyncIterator()
            reading = Reading(pieces)
        }

        /// Returns the next piece; `nil` at the end.
        public mutating func next() async throws(ConnectionError) -> Data? {
            do throws(TransportError) { return try await pieces.next() } catch {
                throw error.cause as? ConnectionError ?? ConnectionError(error)
            }
        }

        /// Ends the reading, even if the iterator is retained.
        func abandon() { pieces.abandon() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(pieces) }
}
