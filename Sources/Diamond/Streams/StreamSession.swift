import DiamondSQLite
import Foundation

/// Streams a response to its consumers while it is received: the head first, then piece by piece. The next piece is
/// read when every consumer has room for it.
///
/// Consumers may join until the head has arrived, so that each gets the whole body.
final class StreamSession: BodySink {
    private struct State {
        var consumers: [StreamConsumer]
        var task: Task<Void, Never>?
        /// Whether it is too late to join.
        var isClosed = false
        var isCommitted = false
        var isComplete = false
    }

    let limit: Int
    /// The number of buffered bytes at which the transfer waits for a consumer.
    private let window: Int
    /// The closure that is called when no more readers can join, possibly more than once.
    private let whenClosed: @Sendable (StreamSession) -> Void
    /// The consumer that the session was begun for.
    let first: StreamConsumer
    private let state: Guarded<State>

    /// - Parameters:
    ///   - limit: the greatest size of the body in bytes.
    ///   - window: the number of buffered bytes at which the transfer waits for a consumer; by default 1, which waits
    ///     after every piece.
    ///   - whenClosed: called when no more readers can join, possibly more than once.
    init(limit: Int, window: Int = 1, whenClosed: @escaping @Sendable (StreamSession) -> Void = { _ in }) {
        self.limit = limit
        self.window = window
        self.whenClosed = whenClosed
        let first = StreamConsumer(window: window)
        self.first = first
        state = Guarded(State(consumers: [first]))
        first.onLeave { [self] in leave(first) }
    }

    /// Sends a request and returns the response when its head has arrived. The exchange continues in a task of its own,
    /// until its body has ended or has no readers.
    ///
    /// - Parameter position: the position at which the request was resolved; `nil` if it is still to be resolved.
    static func open(
        _ request: Request,
        resolvedAt position: LogPosition? = nil,
        limit: Int,
        over pipeline: Pipeline
    ) async throws(ConnectionError) -> StreamedResponse {
        let session = StreamSession(limit: limit)
        session.start(request, resolvedAt: position, over: pipeline, isDetached: false)
        // The only consumer is never dismissed.
        guard let response = try await session.first.response else { throw .cancelled }
        return response
    }

    /// The number of readers.
    var readers: Int { state.withLock { $0.consumers.count } }

    /// Adds a reader; `nil` if it is too late.
    func join() -> StreamConsumer? {
        let consumer = StreamConsumer(window: window)
        let isIn = state.withLock { state in
            guard !state.isClosed else { return false }
            state.consumers.append(consumer)
            return true
        }
        guard isIn else { return nil }
        consumer.onLeave { [self] in leave(consumer) }
        return consumer
    }

    /// Sends the request, once.
    ///
    /// - Parameters:
    ///   - position: the position at which the request was resolved; `nil` if it is still to be resolved.
    ///   - isDetached: whether the task inherits no task-local values, because the exchange may serve several callers.
    func start(
        _ request: Request, resolvedAt position: LogPosition?, over pipeline: Pipeline, isDetached: Bool
    ) {
        let task = pipeline.streams.add(isDetached: isDetached) { [self] in
            await run(request, resolvedAt: position, over: pipeline)
        }
        let isLeft = state.withLock { state in
            state.task = task
            return state.consumers.isEmpty
        }
        if isLeft { task.cancel() }
    }

    private func run(_ request: Request, resolvedAt position: LogPosition?, over pipeline: Pipeline) async {
        let outcome: Result<Response, ConnectionError>
        let caller = position.map { position in Caller().with { $0.resolvedAt = position } } ?? Caller()
        do throws(ConnectionError) {
            outcome = .success(try await pipeline.stream(request, into: self, for: caller))
        } catch {
            outcome = .failure(error)
        }
        for consumer in close({ $0.task = nil }) { consumer.end(outcome) }
    }

    private func leave(_ consumer: StreamConsumer) {
        let (isLast, task) = state.withLock { state in
            state.consumers.removeAll { $0 === consumer }
            guard state.consumers.isEmpty else { return (false, nil as Task<Void, Never>?) }
            state.isClosed = true
            return (true, state.task)
        }
        guard isLast else { return }
        whenClosed(self)
        task?.cancel()
    }

    /// Closes the session for more readers.
    ///
    /// - Returns: the readers.
    private func close(_ change: (inout State) -> Void) -> [StreamConsumer] {
        let consumers = state.withLock { state in
            state.isClosed = true
            change(&state)
            return state.consumers
        }
        whenClosed(self)
        return consumers
    }

    // MARK: The exchange's side

    var isCommitted: Bool { state.withLock { $0.isCommitted } }
    /// Always `false`: the readers can see a status of 206 in the head.
    var isForWhole: Bool { false }
    var isComplete: Bool { state.withLock { $0.isComplete } }
    /// Always `false`: the consumers have the first head, and the rest may come with another.
    var isContinuable: Bool { false }

    func begin(_ head: Response) async throws(TransportError) {
        for consumer in close({ $0.isCommitted = true }) { consumer.begin(head) }
    }

    func append(_ piece: Data) async throws(TransportError) {
        let consumers = state.withLock { $0.consumers }
        // Every consumer gets the piece before any is waited for.
        let demands = consumers.map { $0.offer(piece) }
        guard demands.contains(where: { $0 != .stop }) else { throw .cancelled(serverMayHaveActed: true) }
        for (consumer, demand) in zip(consumers, demands) where demand == .pause { await consumer.waitForDemand() }
    }

    /// Dismisses all consumers but the first, if the response is personal.
    func receive(_ event: ExchangeEvent) {
        guard case .personal = event else { return }
        let others = state.withLock { state in
            state.isClosed = true
            defer { state.consumers = Array(state.consumers.prefix(1)) }
            return state.consumers.dropFirst()
        }
        whenClosed(self)
        for other in others { other.dismiss() }
    }

    func complete() { state.withLock { $0.isComplete = true } }
}
