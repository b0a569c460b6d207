import DiamondSQLite
import Foundation

/// The access of one caller to a ``SharedBody``.
final class SharedBodyReader: Sendable {
    private enum State {
        case waiting
        case reading(SharedBody, number: Int)
        case left
    }

    private let sink: any BodySink
    private let signal = Signal()
    private let opened = Promise<SharedBody?>()
    private let state = Guarded(State.waiting)

    init(_ sink: any BodySink) { self.sink = sink }

    /// Receives an event of the exchange.
    func receive(_ event: SharedBodyEvent) {
        switch event {
        case .interim(let interim): sink.onInterim?(interim)
        case .body(let body):
            join(body)
            opened.fulfill(with: body)
        }
    }

    /// Begins to read, unless the caller has left. The exchange waits for this reader from now on.
    private func join(_ body: SharedBody) {
        let number = body.addReader(signal)
        let hasLeft = state.withLock { state in
            if case .left = state { return true }
            state = .reading(body, number: number)
            return false
        }
        if hasLeft { body.removeReader(number) }
    }

    /// Notes the end of the exchange, which may have had no body.
    func noteEnd() { opened.fulfill(with: nil) }

    /// The body, when its head has arrived; `nil` if the exchange has ended without one.
    var body: SharedBody? { get async { await opened.value() } }

    /// Stops reading, now or before the body begins.
    func leave() {
        let last = state.withLock { state in
            defer { state = .left }
            return state
        }
        if case .reading(let body, let number) = last { body.removeReader(number) }
    }

    /// Passes the body to the sink.
    ///
    /// - Parameter head: the head for this caller.
    /// - Returns: whether the sink has the whole body, or its caller has left; `false` if the exchange has failed.
    func pass(_ body: SharedBody, head: Response) async throws(ConnectionError) -> Bool {
        defer { leave() }
        guard case .reading(_, let number) = state.withLock({ $0 }) else { return false }
        do throws(TransportError) {
            try await sink.begin(head)
            while !sink.isForCacheAlone {
                guard !Task.isCancelled else { throw .cancelled(serverMayHaveActed: true) }
                switch body.step(for: number) {
                case .piece(let piece): try await sink.append(piece)
                case .written(let reader): try await sink.append(try next(of: reader, from: body, number: number))
                case .wait: await signal.wait()
                case .end:
                    sink.complete()
                    return true
                case .failure: return false
                }
            }
            return true
        } catch {
            throw ConnectionError(error)
        }
    }

    /// Reads the next bytes of the store. The entry may have been replaced or evicted meanwhile.
    private func next(of reader: BodyReader, from body: SharedBody, number: Int) throws(TransportError) -> Data {
        var reader = reader
        do throws(CacheError) {
            guard let piece = try reader.next() else { throw .entryGone }
            body.advance(number, by: piece.count)
            return piece
        } catch {
            let message = "the stored body cannot be read to its end: \(error.message)"
            throw TransportError(.connectionLost, message, serverMayHaveActed: true, cause: error)
        }
    }
}
