import Foundation

/// One who reads an answer that is handed over while it comes.
final class StreamConsumer: Sendable {
    private enum Opening: Sendable {
        /// The head of an answer whose body is on its way.
        case streaming(Response)
        case whole(Response)
        /// The answer is for another alone.
        case dismissed
    }

    private let pipe: BodyPipe
    private let room = Signal()
    // Not the bytes: whoever keeps them keeps the exchange.
    private let opened = Promise<Result<Opening, ConnectionError>>()

    /// - Parameter window: bytes that may wait for it; a piece that comes while there are fewer is taken whole.
    init(window: Int) { pipe = BodyPipe(highWater: window) }

    /// Waits for the head; canceling the waiting task leaves. `nil` where the answer is for another alone.
    var response: StreamedResponse? {
        get async throws(ConnectionError) {
            let outcome = await opened.value { [pipe] in
                pipe.abandon()
                return .failure(.cancelled)
            }
            switch try outcome.get() {
            case .streaming(let head): return StreamedResponse(head, pipe)
            case .whole(let response): return StreamedResponse(whole: response)
            case .dismissed: return nil
            }
        }
    }

    // MARK: The exchange's side

    /// - Parameter leave: called once, when nobody reads any more before the end.
    func onLeave(_ leave: @escaping @Sendable () -> Void) {
        pipe.connect { [room] in
            room.wake()
        } onStop: { [room] in
            leave()
            room.wake()
        }
    }

    func begin(_ head: Response) { opened.fulfill(with: .success(.streaming(head))) }

    /// Takes a piece without a wait.
    ///
    /// - Returns: `pause` where ``waitForRoom()`` comes before the next one.
    func offer(_ piece: Data) -> BodyPipe.Demand { pipe.yield(piece) }

    /// Returns when it has room, or reads no more.
    func waitForRoom() async { await room.wait() }

    /// The answer is for another alone: nothing of it comes here.
    func dismiss() {
        opened.fulfill(with: .success(.dismissed))
        pipe.finish(nil)
    }

    /// - Parameter outcome: the answer is of use to who has seen no head.
    func end(_ outcome: Result<Response, ConnectionError>) {
        opened.fulfill(with: outcome.map(Opening.whole))
        switch outcome {
        case .success: pipe.finish(nil)
        case .failure(let error):
            pipe.finish(TransportError(.other, error.message, requestMayHaveBeenSent: true, cause: error))
        }
    }
}
