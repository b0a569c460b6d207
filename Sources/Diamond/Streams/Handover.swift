import DiamondSQLite
import Foundation

/// Hands an answer over to one consumer while it comes: the head first, then piece by piece, each when the one before was
/// taken.
final class Handover: BodySink {
    private enum Opening: Sendable {
        /// The head of an answer whose body is on its way.
        case streaming(Response)
        case whole(Response)
    }

    private struct State {
        var isCommitted = false
        var isComplete = false
    }

    let limit: Int
    // Full with whatever is in it.
    private let pipe = BodyPipe(highWater: 1)
    private let room = Room()
    // Not the bytes: whoever keeps them keeps the exchange.
    private let opened = Awaited<Result<Opening, ConnectionError>>()
    private let state = Guarded(State())

    private init(limit: Int) { self.limit = limit }

    /// Returns with the head; the exchange goes on in a task of its own, until its body is at its end or nobody reads it.
    static func open(
        _ request: Request,
        limit: Int,
        over pipeline: Pipeline
    ) async throws(ConnectionError) -> StreamedResponse {
        let handover = Handover(limit: limit)
        let task = pipeline.streams.add(isDetached: false) { await handover.run(request, over: pipeline) }
        handover.pipe.connect {
            handover.room.open()
        } onStop: {
            task.cancel()
            handover.room.open()
        }
        let outcome = await handover.opened.value {
            handover.pipe.abandon()
            return .failure(.cancelled)
        }
        switch try outcome.get() {
        case .streaming(let head): return StreamedResponse(head, handover.pipe)
        case .whole(let response): return StreamedResponse(whole: response)
        }
    }

    private func run(_ request: Request, over pipeline: Pipeline) async {
        do throws(ConnectionError) {
            let response = try await pipeline.pour(request, into: self)
            if !isComplete { opened.tell(.success(.whole(response))) }
            pipe.finish(nil)
        } catch {
            opened.tell(.failure(error))
            pipe.finish(TransportError(.other, error.message, requestMayHaveBeenSent: true, cause: error))
        }
    }

    // MARK: The exchange's side

    var isCommitted: Bool { state.withLock { $0.isCommitted } }
    var isComplete: Bool { state.withLock { $0.isComplete } }
    /// The consumer knows the first head.
    var isContinuable: Bool { false }

    func begin(_ head: Response) async throws(TransportError) {
        state.withLock { $0.isCommitted = true }
        opened.tell(.success(.streaming(head)))
    }

    func append(_ piece: Data) async throws(TransportError) {
        switch pipe.yield(piece) {
        case .more: break
        case .pause: await room.wait()
        case .stop: throw .cancelled(requestMayHaveBeenSent: true)
        }
    }

    func complete() { state.withLock { $0.isComplete = true } }
}
