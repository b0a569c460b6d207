import DiamondSQLite
public import Foundation

/// The operation that takes one request to its response.
///
/// ```swift
/// let connection = engine.enqueue(Request("https://api.example.com/cities"))
/// let response = try await connection.response
/// ```
///
/// Hand it to ``Engine/enqueue(_:)-(Connection)``, or make it with
/// ``Engine/connection(for:)`` and put it on an `OperationQueue` of your own; dependencies, priorities and
/// `completionBlock` are `Operation`'s. It finishes exactly once, also when it is canceled: before it starts, while it
/// runs, or twice. A finished connection is not started again.
///
/// `@unchecked Sendable`: all its own state is in `core`, behind a lock; `Operation` guards its own.
open class Connection: Operation, @unchecked Sendable {
    struct Core {
        var life = ConnectionLife()
        var pipeline: Pipeline?
        var task: Task<Void, Never>?
        var waiters: [CheckedContinuation<ConnectionLife.Outcome, Never>] = []
        var observers: [Int: AsyncStream<ConnectionState>.Continuation] = [:]
        var nextObserver = 0
        var isEnqueued = false
    }

    /// What was asked. Sending does not change it.
    public let request: Request

    let core = Guarded(Core())

    /// Makes a connection without an engine; it gets one when it is enqueued.
    public init(_ request: Request) {
        self.request = request
        super.init()
        name = request.description
    }

    // MARK: The response

    /// The response, when it is here. Canceling the waiting task cancels the connection.
    ///
    /// - Throws: ``ConnectionError``; `cancelled` at once when the connection was canceled, started or not.
    public var response: Response {
        get async throws(ConnectionError) {
            let outcome = await withTaskCancellationHandler {
                await withCheckedContinuation { waiter in
                    let known = core.withLock { core -> ConnectionLife.Outcome? in
                        if core.life.outcome == nil { core.waiters.append(waiter) }
                        return core.life.outcome
                    }
                    if let known { waiter.resume(returning: known) }
                }
            } onCancel: {
                cancel()
            }
            return try outcome.get()
        }
    }

    /// Where it stands now.
    public var state: ConnectionState { core.withLock { $0.life.state } }

    /// Where it stands, first now, then at every change; ends when it has finished.
    public var states: AsyncStream<ConnectionState> {
        AsyncStream(bufferingPolicy: .unbounded) { continuation in
            let number = core.withLock { core -> Int? in
                continuation.yield(core.life.state)
                guard core.life.state != .finished else { return nil }
                core.nextObserver += 1
                core.observers[core.nextObserver] = continuation
                return core.nextObserver
            }
            guard let number else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.core.withLock { $0.observers.removeValue(forKey: number) }
            }
        }
    }

    // MARK: Operation

    public final override var isAsynchronous: Bool { true }
    public final override var isExecuting: Bool { state == .executing }
    public final override var isFinished: Bool { state == .finished }

    /// Called by the queue or the engine that runs the connection, not by you.
    public final override func start() {
        perform(announcing: true) { $0.start() }
    }

    /// Cancels; the response is the error `cancelled` at once, the operation finishes when its queue has come by, or
    /// what was under way has ended.
    public final override func cancel() {
        super.cancel()
        perform(announcing: false) { $0.cancel() }
    }

    /// Takes the engine's pipeline; `false` when the connection is somebody's already.
    func adopt(_ pipeline: Pipeline, enqueuing: Bool) -> Bool {
        core.withLock { core in
            guard !enqueuing || !core.isEnqueued else { return false }
            core.isEnqueued = core.isEnqueued || enqueuing
            core.pipeline = pipeline
            return true
        }
    }
}
