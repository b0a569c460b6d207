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
/// runs, while it is paused, or twice. A finished connection is not started again.
///
/// `@unchecked Sendable`: its own state is in `core`, behind a lock, but for its edges, which are behind that of the graph;
/// `Operation` guards its own.
open class Connection: Operation, NSCopying, @unchecked Sendable {
    struct Core {
        var life = ConnectionLife()
        // Beside what ends with a byte: the smaller ones take no words of their own.
        /// Whether an exchange that others may share waits for it.
        var isInFlight = false
        /// Whether the operation has finished: its life has, and the callbacks are with their executors.
        var hasFinished = false
        /// Whether its dependents have been released; set under the lock of ``DependencyGraph``, too.
        var isReleased = false
        /// Whether ``handed`` is what a subclass has made of it.
        var isPrepared = false
        /// The secrets whose refresh waits for it.
        var making: Set<CredentialRefreshes.Secret> = []
        /// The engine that runs it, until it has finished.
        var home: ConnectionRegistry?
        /// The engine, kept weakly, also once the connection has finished: for its copies and callbacks.
        weak var maker: ConnectionRegistry?
        /// The run that takes it to its response; `nil` while it is paused.
        var run: ConnectionRun?
        /// The place for a partial response that no store may keep.
        var resumeSlot: ResumeSlot?
        var waiters: [CheckedContinuation<ConnectionLife.Outcome, Never>] = []
        var observers = Listeners<AsyncStream<ConnectionState>.Continuation>()
        var callbacks = ConnectionCallbacks()
        /// The response handler of a typed call.
        var handler: ResponseHandler?
        /// Few set it.
        var failedDependencies = IndirectOptional<FailedDependencies>.none
        /// The meter of the current attempt, or of the last one.
        var meter: TransferMeter?
        /// The observers of the meter.
        var watch: ProgressObserver?
        /// The token that counts the connection, from its start until it has finished.
        var token: ActivityToken?
        var hold = PauseCounter()
        /// Its place among the members of the engine that it was enqueued in, or that it has when it is started.
        var membership: SlotNumber?
        var isMember: Bool { membership != nil }
        /// The error that keeps it from being run.
        var fault: ConnectionError?
        /// The request with what its dependencies have brought, asked for once: the connection may be run again.
        var handed = IndirectOptional<Request>.none
        /// The job of a request that is kept, until the connection has finished.
        var ticket: DurableRequest?
        /// The file to which the body is written; `nil` where the body is collected.
        var file: ConnectionFile?
    }

    /// The request as it was given. Sending does not change it.
    public let request: Request

    let core = Guarded(Core())
    /// Its edges, where it has some. Touched by ``DependencyGraph`` alone.
    var knownNode: DependencyNode?
    /// Whether a queue may know it; a gate then tells the queue what it waits for. Touched by ``DependencyGraph``
    /// alone.
    var isWatched = Connection.isWatchedUnasked
    /// Whether an operation that is no connection waits for it, directly or through others, and a connection waits for
    /// that operation; or has, once. Touched by ``DependencyGraph`` alone.
    var isAwaitedAbroad = false

    /// Makes a connection without an engine; it gets one when it is enqueued.
    public required init(_ request: Request) {
        self.request = request
        super.init()
    }

    deinit {
        callOffUnrun()
        endObservers()
        if let knownNode { DependencyGraph.free(knownNode) }
    }

    // MARK: Operation

    /// A name for people; the request's description where none was set.
    public final override var name: String? {
        get { super.name ?? request.description }
        set { super.name = newValue }
    }

    public final override var isAsynchronous: Bool { true }
    public final override var isExecuting: Bool {
        core.withLock { $0.life.isExecuting || ($0.life.isFinished && !$0.hasFinished) }
    }
    public final override var isFinished: Bool { core.withLock { $0.hasFinished } }

    /// Starts the connection. The queue or the engine that runs it calls this, not you. If it is started before its
    /// dependencies have finished, it waits for them.
    public final override func start() {
        let (isKnown, isSettled) = core.withLock { ($0.isMember && $0.token != nil, $0.life.isSettled) }
        if !isKnown {
            becomeMember()
            count()
        }
        // Not whether it is canceled: a cancel that is under way says so before the outcome is known.
        if !isSettled, let foreign = DependencyGraph.wait(self) {
            // Canceled just before it waited, it has not been started by that.
            guard core.withLock({ $0.life.isSettled }), DependencyGraph.stopWaiting(self) else {
                return breakCycle(over: foreign)
            }
        }
        perform(announcing: true) { $0.start() }
    }

    /// Cancels the connection. Its response is the error `cancelled` at once, and its dependents need not wait. The
    /// operation finishes when the work under way has ended; on a queue of your own, when the queue has come to it. If
    /// the request is a job by then, the error names the job (``ConnectionError/jobID``), which is sent all the same.
    public final override func cancel() {
        super.cancel()
        performInCore(announcing: false) { core in
            let ticket = core.ticket
            return core.life.cancel(of: ticket?.cancel())
        }
        if DependencyGraph.stopWaiting(self) { start() }
        callOffIfNotRun()
    }

    /// The priority of the exchange; may be changed while it waits for its permit.
    public final override var queuePriority: Operation.QueuePriority {
        get { super.queuePriority }
        set {
            super.queuePriority = newValue
            core.withLock { $0.run }?.priorityChanged()
        }
    }

    /// The block that is called once when the connection has finished, on a thread of the system's. Setting it has no
    /// effect once the connection has finished.
    public final override var completionBlock: (@Sendable () -> Void)? {
        get { core.withLock { $0.life.isFinished ? nil : $0.callbacks.completionBlock } }
        set { setCompletionBlock(newValue) }
    }

    /// Marks the connection as canceled where one of its dependencies has failed.
    final func markCanceled() { super.cancel() }

    // MARK: For subclasses

    /// Prepares the request for sending, such as signing it or fetching what it needs. The default does nothing.
    ///
    /// Called on one of the engine's tasks, when the connection is run and its dependencies have handed over, before
    /// the cache is asked. Changes count for the identity; ``request`` stays as it is. It is called once for a
    /// connection, and again if the connection is paused meanwhile. It may wait for connections of the same engine. It
    /// is canceled with the connection, or when it has taken as long as the ``RetryPolicy/deadline``; a later result is
    /// dropped.
    ///
    /// - Throws: any error that describes the failure: the connection fails with `preparationFailed`, and has it as the
    ///   cause.
    open func prepare(_ request: inout Request) async throws {}

    /// Checks whether a response is acceptable, by status, type or content. The default accepts every response.
    ///
    /// Called for each response that the connection may end with, as interceptors have changed it, whether it comes
    /// from a server or from the cache; not for redirects that are followed. For a download (``init(_:to:)``) it is
    /// called for a success, without body, before the file has its name. It is also called for a response that is
    /// collected behind a stale one (`staleWhileRevalidate`), with its body, and for the response of a finished
    /// connection's snapshot (``init(_:)-(ConnectionSnapshot)``). A server's response is checked before it is stored: a
    /// refused response is not stored, and what was stored before stays. Connections that share an exchange each check
    /// for themselves; the one that has opened the exchange decides whether the answer is stored. Called on any thread;
    /// be quick.
    ///
    /// - Throws: any error that describes the failure: the connection fails with `invalidResponse`, the response, and
    ///   this error as the cause. Under `networkElseCache` a stored answer is returned instead, except for a status of
    ///   3xx or 4xx. A download does not fall back to a stored answer, because it is checked when it is in the file.
    open func validate(_ response: Response) throws {}

    /// Decodes a valid response into what the subclass wants, and keeps it behind a lock. The default does nothing.
    ///
    /// Called on one of the engine's tasks, or where a connection is made of a snapshot that has a response
    /// (``init(_:)-(ConnectionSnapshot)``), before the response is reported, callbacks included. It is called once for
    /// a connection, and again if the connection is paused meanwhile, or if an answer is of no use under
    /// `networkElseCache`. If the connection has opened the exchange, the answer is stored after this call, and not if
    /// it throws; what is stored already stays.
    ///
    /// - Throws: any error that describes the failure: the connection fails with `undecodable` and the response.
    open func decode(_ response: Response) throws {}

    // MARK: Copies

    /// Returns a connection of the same class that is ready to send the same request, whatever the state of this one.
    ///
    /// | copied | not copied |
    /// |---|---|
    /// | ``request``, as it was given: not what dependencies have changed in it | dependencies, and what they have brought |
    /// | the engine, for ``retry()`` and for queues of your own | the response or the error, and the attempts |
    /// | `name`, `queuePriority`, `qualityOfService` | pauses, a cancel, and whether it was enqueued |
    /// | ``file``, where the connection has one | what is in it |
    /// | ``failedDependencies`` | callbacks, `completionBlock`, observers, and the batches that it is in |
    ///
    /// A dependency that is added to the copy hands its response over even if it has finished. A subclass with more to
    /// copy overrides this, and adds it to what `super` returns.
    open func copied() -> Self {
        let copy = Self(request)
        copy.takeSettings(of: self)
        return copy
    }

    /// ``copied()``, for Foundation.
    public final func copy(with zone: NSZone?) -> Any { copied() }

    // MARK: Dependencies

    /// Makes the connection wait for another, of any engine, or for an operation of any queue, to finish.
    ///
    /// If another connection fails, ``failedDependencies`` decides what follows. If the dependency would close a cycle,
    /// the order of serial lanes included, nothing is added, and the connection fails with `dependencyCycle` when it is
    /// run. The call has no effect once the connection has started. An operation that is no connection is kept until it
    /// finishes.
    ///
    /// Operations that are no connections are asked for their `dependencies`, where no lock is held: here, and once
    /// more when a connection that depends on one is enqueued. A cycle that their own `addDependency` closes after all
    /// have been enqueued cannot be detected, and waits forever.
    public final override func addDependency(_ operation: Operation) { depend(on: operation) }

    /// Makes the connection wait until the returned edge is ended.
    final func hold() -> Dependency { depend(on: nil) }

    @discardableResult
    final func depend(on operation: Operation?, hand: Dependency.Hand? = nil) -> Dependency {
        let edge = Dependency(on: operation, hand: hand)
        guard core.withLock({ !$0.life.isExecuting && !$0.life.isFinished }) else { return edge }
        var addition = DependencyGraph.add(edge, of: self, gate: nil)
        if case .needsGate = addition { addition = DependencyGraph.add(edge, of: self, gate: gate()) }
        switch addition {
        case .added(let suspects):
            // Looked for when the edge is there: of two that close a cycle together, the later one finds the other's.
            if let cycle = CycleSearch.cycle(of: self, over: suspects) {
                fail(with: cycle)
                DependencyGraph.remove([edge], from: self)
            } else if let operation, !(operation is Connection) {
                DependencyGraph.watch(operation, for: edge)
            }
        case .cycle(let cycle): fail(with: cycle.map(\.description))
        case .needsGate: break
        }
        return edge
    }

    /// Makes the gate that Foundation waits for from now on.
    private func gate() -> DependencyGate {
        let gate = DependencyGate()
        super.addDependency(gate)
        return gate
    }

    #if canImport(Darwin)
    // A queue there is told by key-value observing, and misses some of those that override `isReady`.
    private static let isWatchedUnasked = true
    #else
    private static let isWatchedUnasked = false

    /// Whether a queue may start it: one of your own asks when the connection is put on it, an engine does not.
    public final override var isReady: Bool {
        if !isCancelled, DependencyGraph.needsGate(self) {
            DependencyGraph.take(gate(), of: self)
            breakCycle(over: DependencyGraph.foreign(of: self))
        }
        // Canceled meanwhile, it may be started: a queue that has just taken it would not ask again.
        return super.isReady && (isCancelled || !DependencyGraph.isHeld(self))
    }
    #endif

    /// Removes a dependency, and starts the connection if it waited for nothing else.
    public final override func removeDependency(_ operation: Operation) {
        DependencyGraph.remove(operation, from: self)
    }

    /// The operations that it waits for, in order; none once it has finished.
    public final override var dependencies: [Operation] {
        guard !isFinished else { return [] }
        var known: Set<ObjectIdentifier> = []
        return DependencyGraph.dependencies(of: self).compactMap(\.operation)
            .filter { known.insert(ObjectIdentifier($0)).inserted }
    }
}
