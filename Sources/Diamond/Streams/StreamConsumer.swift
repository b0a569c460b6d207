import Foundation

/// A reader of a response that is streamed while it is received.
final class StreamConsumer: Sendable {
    private enum Opening: Sendable {
        /// The head of a response whose body is still being received.
        case streaming(Response)
        case whole(Response)
        /// The response is personal: it is for the first caller alone.
        case dismissed
    }

    private let pipe: BodyPipe
    private let demandSignal = Signal()
    // Without the bytes, because a reference to them would keep the exchange running.
    private let opened = Promise<Result<Opening, ConnectionError>>()

    /// - Parameter window: the number of buffered bytes at which the transfer waits for this reader. A piece that comes
    ///   below it is buffered whole.
    init(window: Int) { pipe = BodyPipe(highWater: window) }

    /// The response, once its head has arrived; `nil` if it is for the first caller alone. Canceling the waiting task
    /// ends the reading.
    var response: StreamedResponse? {
        get async throws(ConnectionError) {
            let outcome = await opened.value { [pipe] in
                pipe.abandon()
                return .failure(.cancelled)
            }
            switch try outcome.get() {
            case .streaming(let head): return StreamedResponse(head, body: pipe)
            case .whole(let response): return StreamedResponse(whole: response)
            case .dismissed: return nil
            }
        }
    }

    // MARK: The exchange's side

    /// Sets a closure that is called once, if the reader stops before the end.
    func onLeave(_ leave: @escaping @Sendable () -> Void) {
        pipe.connect { [demandSignal] in
            demandSignal.wake()
        } onStop: { [demandSignal] in
            leave()
            demandSignal.wake()
        }
    }

    func begin(_ head: Response) { opened.fulfill(with: .success(.streaming(head))) }

    /// Buffers a piece without waiting.
    ///
    /// - Returns: `pause` if ``waitForDemand()`` has to be called before the next piece.
    func offer(_ piece: Data) -> BodyPipe.Demand { pipe.yield(piece) }

    /// Returns when the buffer has room, or the reader has stopped.
    func waitForDemand() async { await demandSignal.wait() }

    /// Ends the reading, because the response is for the first caller alone.
    func dismiss() {
        opened.fulfill(with: .success(.dismissed))
        pipe.finish(nil)
    }

    /// Ends the stream.
    ///
    /// - Parameter outcome: the outcome of the exchange. A reader that has not received a head gets its response.
    func end(_ outcome: Result<Response, ConnectionError>) {
        opened.fulfill(with: outcome.map(Opening.whole))
        switch outcome {
        case .success: pipe.finish(nil)
        case .failure(let error):
            pipe.finish(TransportError(.other, error.message, serverMayHaveActed: true, cause: error))
        }
    }
}
