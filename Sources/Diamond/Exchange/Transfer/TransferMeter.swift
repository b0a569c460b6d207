import DiamondSQLite
import Foundation
import HTTPTypes

/// Measures the progress and the times of one attempt, and notifies listeners of changes.
final class TransferMeter: Sendable {
    typealias Listener = @Sendable () -> Void

    private struct State {
        var progress: TransferProgress
        var listeners: [Listener] = []
        /// The time at which the head of the response was received.
        var headAt: Duration?
        var isConnectionReused: Bool?
    }

    private let state: Guarded<State>
    private let clock: ExchangeClock
    /// The start of the attempt.
    private let attemptStart: Duration

    init(_ request: TransportRequest, clock: ExchangeClock) {
        self.clock = clock
        attemptStart = clock.elapsed()
        state = Guarded(State(progress: TransferProgress(expectedToSend: request.body.length)))
    }

    var progress: TransferProgress { state.withLock { $0.progress } }

    /// Returns the measurements of an exchange that ends with this attempt.
    ///
    /// - Parameters:
    ///   - attempts: the number of its attempts.
    ///   - start: the start of its first attempt.
    func metrics(after attempts: Int, since start: Duration) -> ExchangeMetrics {
        let state = state.withLock { $0 }
        let end = clock.elapsed()
        return ExchangeMetrics(
            attempts: attempts, duration: end - start, timeToFirstByte: (state.headAt ?? end) - attemptStart,
            sent: state.progress.sent, received: state.progress.received,
            isConnectionReused: state.isConnectionReused)
    }

    /// Adds a listener.
    ///
    /// - Parameter listener: called on the thread of the transfer, for every piece; it must be quick.
    func listen(_ listener: @escaping Listener) { state.withLock { $0.listeners.append(listener) } }

    /// Adds a listener that receives the progress.
    ///
    /// - Parameter progress: called like a listener.
    func report(to progress: @escaping @Sendable (TransferProgress) -> Void) {
        // Weak, because the meter retains its listeners.
        listen { [weak self] in if let self { progress(self.progress) } }
    }

    // MARK: Measuring

    /// Returns the request with a body that is counted as the transport reads it.
    @inline(never)
    func measured(_ request: TransportRequest) -> TransportRequest {
        guard case .stream(let length, let make) = request.body else { return request }
        var measured = request
        measured.body = .stream(length: length) { [self] in CountedPieces(pieces: make(), meter: self) }
        return measured
    }

    fileprivate func send(_ count: Int) { update { $0.progress.sent += Int64(count) } }

    /// Notes the head of the response.
    func receiveHead(_ response: TransportResponse, to request: TransportRequest) {
        let headAt = clock.elapsed()
        update { state in
            state.headAt = headAt
            state.isConnectionReused = response.isConnectionReused
            if case .bytes(let data) = request.body { state.progress.sent = Int64(data.count) }
            // With these statuses, `Content-Length` is not the length of the whole body (RFC 9110 section 8.6).
            let isOther = [.partialContent, .noContent, .notModified].contains(response.status)
            if request.method != .head, !isOther, !response.headers.contains(.contentEncoding) {
                state.progress.expectedToReceive = response.headers.single(.contentLength)
                    .flatMap { Int64(digits: $0) }
            }
        }
    }

    /// Sets the length of the whole body of a response that can be resumed.
    func expect(_ count: Int) { update { $0.progress.expectedToReceive = Int64(count) } }

    /// Notes the bytes received so far.
    ///
    /// - Parameter count: the count from the start of the body.
    func receive(_ count: Int) { update { $0.progress.received = max($0.progress.received, Int64(count)) } }

    private func update(_ change: (inout State) -> Void) {
        let listeners = state.withLock { state in
            change(&state)
            return state.listeners
        }
        for listener in listeners { listener() }
    }
}

extension TransportBody {
    fileprivate var length: Int64? {
        switch self {
        case .none: 0
        case .bytes(let data): Int64(data.count)
        case .stream(let length, _): length
        }
    }
}

/// The pieces of a request's body, counted as the transport reads them.
private struct CountedPieces: AsyncSequence, Sendable {
    let pieces: any AsyncSequence<Data, any Error> & Sendable
    let meter: TransferMeter

    struct Iterator: AsyncIteratorProtocol {
        var pieces: any AsyncIteratorProtocol<Data, any Error>
        let meter: TransferMeter

        mutating func next() async throws -> Data? { try await next(isolation: nil) }

        mutating func next(isolation: isolated (any Actor)?) async throws -> Data? {
            let piece = try await pieces.next(isolation: isolation)
            // A canceled sequence may still return a piece, which is not sent.
            if let piece, !Task.isCancelled { meter.send(piece.count) }
            return piece
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(pieces: pieces.makeAsyncIterator(), meter: meter)
    }
}
