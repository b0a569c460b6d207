import Foundation

/// A sequence of given pieces, and the error that is thrown after them.
struct PieceSequence: AsyncSequence, Sendable {
    private let pieces: [Data]
    private let failure: (any Error)?

    init(_ pieces: [Data], failure: (any Error)? = nil) {
        self.pieces = pieces
        self.failure = failure
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var rest: ArraySlice<Data>
        fileprivate let failure: (any Error)?

        mutating func next() async throws -> Data? {
            if let piece = rest.popFirst() { return piece }
            if let failure { throw failure }
            return nil
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: pieces[...], failure: failure) }
}
