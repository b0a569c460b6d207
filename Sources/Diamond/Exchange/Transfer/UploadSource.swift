import DiamondSQLite
public import Foundation

/// The body of a request that the app makes while it is sent, piece by piece, no faster than it can be sent.
///
/// ```swift
/// let source = UploadSource(length: backup.size) { backup.pieces() }
/// let response = try await engine.upload(Request(url, method: .put), from: source)
/// ```
///
/// Pieces may be of any size. An error that the sequence throws ends the request with `badRequest`. So does a body that
/// is longer or shorter than the length. See <doc:Uploading>.
public struct UploadSource: Sendable {
    /// The length in bytes, sent as `Content-Length`; `nil` sends the body in chunks.
    public let length: Int64?
    /// Creates the pieces; called for each attempt.
    let pieces: @Sendable () -> any AsyncSequence<Data, any Error> & Sendable
    /// Whether pieces that can be read only once have been read; `nil` for a body that can be created again.
    private let isRead: Guarded<Bool>?

    /// Creates a source whose body can be created again.
    ///
    /// - Parameters:
    ///   - length: the length in bytes; unknown by default.
    ///   - make: creates the pieces; called for every attempt, and when a redirect repeats the body, on any thread. It
    ///     must be quick: the sequence does the work.
    public init<Pieces: AsyncSequence & Sendable>(
        length: Int64? = nil,
        _ make: @escaping @Sendable () -> Pieces
    ) where Pieces.Element == Data {
        self.length = length.map { max(0, $0) }
        isRead = nil
        pieces = { ErasedPieces(base: make()) }
    }

    /// Creates a source whose body can be read only once, such as an `AsyncStream`. Once a piece was requested, nothing
    /// is sent again: the caller gets the response or the error of the attempt, even if it is a 401, a 503 or a
    /// redirect.
    ///
    /// - Parameters:
    ///   - pieces: the body, in pieces of any size.
    ///   - length: the length in bytes; unknown by default.
    public init<Pieces: AsyncSequence & Sendable>(
        once pieces: Pieces,
        length: Int64? = nil
    ) where Pieces.Element == Data {
        let isRead = Guarded(false)
        self.length = length.map { max(0, $0) }
        self.isRead = isRead
        self.pieces = { ErasedPieces(base: isRead.set() ? pieces : nil) }
    }

    /// Whether the body was read, and cannot be read again.
    var isConsumed: Bool { isRead?.withLock { $0 } ?? false }
}

extension RequestError {
    static let consumedSource = RequestError(
        .malformedRequest, "the source can be read only once, and was read: create a new one"
    )
}

extension Guarded<Bool> {
    /// Sets it to `true`, and returns whether it was `false`.
    fileprivate func set() -> Bool {
        withLock { isSet in
            defer { isSet = true }
            return !isSet
        }
    }
}

/// The pieces of a sequence, with its error type erased.
private struct ErasedPieces<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == Data {
    /// The sequence; `nil` if it was read before.
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

/// The source of a request's body, and the function that receives its progress.
///
/// It is a class so that a ``Caller`` stores one reference.
final class Upload: Sendable {
    let source: UploadSource
    private let progress: (@Sendable (TransferProgress) -> Void)?

    init(_ source: UploadSource, progress: (@Sendable (TransferProgress) -> Void)?) {
        self.source = source
        self.progress = progress
    }

    var body: TransportBody { .stream(length: source.length, source.pieces) }

    /// Whether the body cannot be sent again.
    var isConsumed: Bool { source.isConsumed }

    func receive(_ event: ExchangeEvent) {
        if let progress, case .began(let meter) = event { meter.report(to: progress) }
    }
}
