import DiamondSQLite
public import Foundation

/// The body of a request that the app makes while it is sent, piece by piece, no faster than the wire takes it.
///
/// ```swift
/// let source = UploadSource(length: backup.size) { backup.pieces() }
/// let response = try await engine.upload(Request(url, method: .put), from: source)
/// ```
///
/// Pieces may be of any size. What the sequence throws ends the request with `badRequest`, and so do pieces that do not
/// come to the length. See <doc:Uploading>.
public struct UploadSource: Sendable {
    /// Bytes in all, sent as `Content-Length`; `nil` sends chunks.
    public let length: Int64?
    /// Made once an exchange.
    let pieces: @Sendable () -> any AsyncSequence<Data, any Error> & Sendable
    /// Whether those have been taken that can be read only once; `nil` where they can be made anew.
    private let isTaken: Guarded<Bool>?

    /// A body that can be rebuilt.
    ///
    /// - Parameters:
    ///   - length: bytes in all; not known when nothing is said.
    ///   - make: called for every attempt, and where a redirect repeats the body, on any thread; be short, and let the
    ///     sequence do the work.
    public init<Pieces: AsyncSequence & Sendable>(
        length: Int64? = nil,
        _ make: @escaping @Sendable () -> Pieces
    ) where Pieces.Element == Data {
        (self.length, isTaken) = (length.map { max(0, $0) }, nil)
        pieces = { ErasedPieces(base: make()) }
    }

    /// A body that can be read only once, such as an `AsyncStream`: once it was asked for, nothing is sent again. Where
    /// the request would have been, the caller gets the answer or the error that there is, be it a 401, a 503 or a
    /// redirect.
    ///
    /// - Parameters:
    ///   - pieces: the body, in pieces of any size.
    ///   - length: bytes in all; not known when nothing is said.
    public init<Pieces: AsyncSequence & Sendable>(
        once pieces: Pieces,
        length: Int64? = nil
    ) where Pieces.Element == Data {
        let isTaken = Guarded(false)
        (self.length, self.isTaken) = (length.map { max(0, $0) }, isTaken)
        self.pieces = { ErasedPieces(base: isTaken.take() ? pieces : nil) }
    }

    /// Whether it was asked for, and cannot be again.
    var isConsumed: Bool { isTaken?.withLock { $0 } ?? false }
}

extension RequestError {
    static let consumedSource = RequestError(
        .malformedRequest, "the source can be read only once, and was: make another, or one that makes its pieces anew")
}

extension Guarded<Bool> {
    /// Only the first takes it.
    fileprivate func take() -> Bool {
        withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}

/// The pieces of any sequence, whatever that throws.
private struct ErasedPieces<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == Data {
    /// `nil` where another has it.
    let base: Base?

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: Base.AsyncIterator?

        mutating func next() async throws -> Data? { try await next(isolation: nil) }

        mutating func next(isolation: isolated (any Actor)?) async throws -> Data? {
            guard base != nil else { throw RequestError.consumedSource }
            return try await base?.next(isolation: isolation)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base?.makeAsyncIterator()) }
}
