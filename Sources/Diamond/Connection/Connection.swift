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
        /// Whether an exchange waits for it that others may share.
        var isInFlight = false
        /// Whether the operation has finished: its life has, and the callbacks are with their executors.
        var hasFinished = false
        /// Whether nobody waits for it any more; set under the lock of ``DependencyGraph``, too.
        var isReleased = false
        /// Whether ``handed`` is what a subclass has made of it.
        var isPrepared = false
        /// The secrets whose refresh waits for it.
        var making: Set<CredentialRefreshes.Secret> = []
        /// The engine that runs it, until it has finished.
        var home: Members?
        /// The same, for the copies of one that has finished.
        weak var maker: Members?
        /// The run that takes it to its response; `nil` while it is paused.
        var run: ConnectionRun?
        /// The place for a partial response that no store may keep.
        var resumeSlot: ResumeSlot?
        var waiters: [CheckedContinuation<ConnectionLife.Outcome, Never>] = []
        var observers = Listeners<AsyncStream<ConnectionState>.Continuation>()
        var callbacks = ConnectionCallbacks()
        /// What makes it one of a typed call.
        var handler: ResponseHandler?
        /// Few set it.
        var failedDependencies = Boxed<FailedDependencies>.none
        /// What measures the attempt that goes on, or has been the last.
        var meter: TransferMeter?
        /// Who wants to know what it measures.
        var watch: TransferWatch?
        /// What counts it, from when it is started until it has finished.
        var token: ActivityToken?
        var hold = ConnectionHold()
        /// Its place among the members of the engine that it was enqueued in, or that it has when it is started.
        var membership: SlotNumber?
        var isMember: Bool { membership != nil }
        /// Why it cannot be run.
        var fault: ConnectionError?
        /// The request with what its dependencies have brought, asked for once: the connection may be run again.
        var handed = Boxed<Request>.none
        /// The job of a request that is kept, until the connection has finished.
        var ticket: DurableRequest?
        /// Where the body goes; `nil` where it is collected.
        var file: ConnectionFile?
    }

    /// What was asked. Sending does not change it.
    public let request: Request

    let core = Guarded(Core())
    /// Its edges, where it has some. Touched by ``DependencyGraph`` alone.
    var knownNode: DependencyNode?
    /// Whether a queue may know it, which a gate tells what it waits for. Touched by ``DependencyGraph`` alone.
    var isWatched = Connection.isWatchedUnasked
    /// Whether an operation that is no connection waits for it, itself or through others, and a connection for that; or has,
    /// once. Touched by ``DependencyGraph`` alone.
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

    /// For people; the request's description where nobody has given it one.
    public final override var name: String? {
        get { super.name ?? request.description }
        set { super.name = newValue }
    }

    public final override var isAsynchronous: Bool { true }
    public final override var isExecuting: Bool {
        core.withLock { $0.life.isExecuting || ($0.life.isFinished && !$0.hasFinished) }
    }
    public final override var isFinished: Bool { core.withLock { $0.hasFinished } }

    /// Called by the queue or the engine that runs the connection, not by you. Started before its dependencies have
    /// finished, it waits for them.
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

    /// Cancels; the response is the error `cancelled` at once, and what depends on it need not wait. The operation
    /// finishes when what was under way has ended; on a queue of your own, when the queue has come by. Where its request is a
    /// job by then, the error names that (``ConnectionError/jobID``): it is sent all the same.
    public final override func cancel() {
        super.cancel()
        performInCore(announcing: false) { core in
            let ticket = core.ticket
            return core.life.cancel(of: ticket?.cancel())
        }
        if DependencyGraph.stopWaiting(self) { start() }
        callOffIfNotRun()
    }

    /// How urgent the exchange is; may be changed while it waits for its place on the wire.
    public final override var queuePriority: Operation.QueuePriority {
        get { super.queuePriority }
        set {
            super.queuePriority = newValue
            core.withLock { $0.run }?.priorityChanged()
        }
    }

    /// Called once when the connection has finished, on a thread of the system's. Without effect once it has.
    public final override var completionBlock: (@Sendable () -> Void)? {
        get { core.withLock { $0.life.isFinished ? nil : $0.callbacks.completionBlock } }
        set { setCompletionBlock(newValue) }
    }

    /// For one that nobody has canceled, but what it depends on has failed.
    final func markCanceled() { super.cancel() }

    // MARK: For subclasses

    /// Makes the request ready to be sent: signs it, or asks somebody for what it needs. Does nothing here.
    ///
    /// Called on one of the engine's tasks, when the connection is run and its dependencies have brought what they bring,
    /// before the cache is asked: what is changed counts for the identity, ``request`` stays what it is. Once for a
    /// connection, but for one that is paused meanwhile, which calls it again. It may wait for connections of the same engine,
    /// and is canceled with the connection, or when it has taken as long as the ``RetryPolicy/deadline``; what comes of it
    /// later is dropped.
    ///
    /// - Throws: whatever says best what is wrong: the connection fails with `preparationFailed`, and has it as the cause.
    open func prepare(_ request: inout Request) async throws {}

    /// Says whether a response is what was asked for: by status, type or content. Takes every one here.
    ///
    /// Called for each response that the connection may end with, not for redirects that are followed, with what
    /// interceptors have made of it, whether it comes from a server or from the cache; of a download (``init(_:to:)``) for
    /// a success, without body, before the file has its name, and of what is collected behind it (`staleWhileRevalidate`)
    /// with its body; and for the response of a finished connection's snapshot (``init(_:)-(ConnectionSnapshot)``). What a
    /// server has answered is looked at before it is stored: what is refused is not, and what was stored before stays. Of those who share an exchange,
    /// each looks for itself; whether the answer is stored, the one decides that has opened it. On any thread; be quick.
    ///
    /// - Throws: whatever says best what is wrong: the connection fails with `invalidResponse`, the response, and this as the
    ///   cause. Under `networkElseCache` what is stored is handed out instead, but for a status of 3xx or 4xx;
    ///   of a download nothing is, because it is looked at when it is in the file.
    open func validate(_ response: Response) throws {}

    /// Makes of a valid response what the subclass wants, and keeps it: behind a lock. Does nothing here.
    ///
    /// Called on one of the engine's tasks, or where a connection is made of a snapshot that has a response
    /// (``init(_:)-(ConnectionSnapshot)``), before anybody is told of the response, callbacks included; once for a connection,
    /// but for one that is paused meanwhile, and one whose answer is of no use under `networkElseCache`. Where the connection
    /// has opened the exchange, the answer is stored after it, and not where this throws; what is stored already stays.
    ///
    /// - Throws: whatever says best what is wrong: the connection fails with `undecodable` and the response.
    open func decode(_ response: Response) throws {}

    // MARK: Copies

    /// A connection of the same class that is ready to ask for the same, from whatever has become of this one.
    ///
    /// | copied | not copied |
    /// |---|---|
    /// | ``request``, as it was given: not what dependencies have changed in it | dependencies, and what they have brought |
    /// | the engine, for ``retry()`` and for queues of your own | the response or the error, and the attempts |
    /// | `name`, `queuePriority`, `qualityOfService` | pauses, a cancel, and whether it was enqueued |
    /// | ``file``, where the connection has one | what is in it |
    /// | ``failedDependencies`` | callbacks, `completionBlock`, observers, and the batches that it is in |
    ///
    /// A dependency that is added to the copy hands its response over also when it has finished. A subclass that has more to
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
    /// What another connection's failure means, ``failedDependencies`` says. Where this would close a cycle, the order of
    /// serial lanes included, nothing is added, and the connection fails with `dependencyCycle` when it is run. Without effect
    /// once it has started. An operation that is no connection is kept until it finishes.
    ///
    /// Operations that are no connections are asked for their `dependencies`, where no lock is held: here, and once more when
    /// a connection that depends on one is enqueued. A cycle that their own `addDependency` closes later, when all have been
    /// enqueued, cannot be seen, and waits forever.
    public final override func addDependency(_ operation: Operation) { depend(on: operation) }

    /// Waits until the edge that is returned is ended.
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

    /// What Foundation waits for from now on.
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

    /// No longer waits for it, and starts if it waited for nothing else.
    public final override func removeDependency(_ operation: Operation) {
        DependencyGraph.remove(operation, from: self)
    }

    /// What it waits for, in order; none once it has finished.
    public final override var dependencies: [Operation] {
        guard !isFinished else { return [] }
        var known: Set<ObjectIdentifier> = []
        return DependencyGraph.dependencies(of: self).compactMap(\.operation)
            .filter { known.insert(ObjectIdentifier($0)).inserted }
    }
}
