import Foundation

/// The sequence of ``StreamedResponse/bytes``.
struct StreamedBytes: AsyncSequence, Sendable {
    typealias Element = Data
    typealias Failure = ConnectionError

    private let pieces: BodyStream

    init(_ pieces: BodyStream) { self.pieces = pieces }

    /// Ends the reading when the last copy of an iterator is released.
    private final class Reading: Sendable {
        private let pieces: BodyStream
        init(_ pieces: BodyStream) { self.pieces = pieces }
        deinit { pieces.makeAsyncIterator().abandon() }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private var pieces: BodyStream.Iterator
        private let reading: Reading

        fileprivate init(_ pieces: BodyStream) {
            self.pieces = pieces.makeAsyncIterator()
            reading = Reading(pieces)
        }

        /// Returns the next piece; `nil` at the end.
        mutating func next() async throws(ConnectionError) -> Data? {
            do throws(TransportError) { return try await pieces.next() } catch {
                throw error.cause as? ConnectionError ?? ConnectionError(error)
            }
        }

        /// Ends the reading, even if the iterator is retained.
        func abandon() { pieces.abandon() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces) }
}
