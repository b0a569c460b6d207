import DiamondSQLite
public import Foundation

/// An operation that sends one request and receives its response.
///
/// ```swift
/// let connection = engine.start(Request("https://api.example.com/cities"))
/// let response = try await connection.response
/// ```
///
/// Pass it to ``Engine/start(_:)-(Connection)``, or create it with ``Engine/connection(for:)-(Request)`` and add it
/// to an `OperationQueue` of your own. Waiting for its ``response`` starts it, too. Dependencies, priorities and
/// `completionBlock` are `Operation`'s. A connection finishes exactly once, also if it is canceled before the start,
/// during the run, during a pause, or twice. A finished connection is not started again.
///
/// `@unchecked Sendable`: a lock guards `core`, the lock of `DependencyGraph` guards the dependency edges, and
/// `Operation` guards its own state.
open class Connection: Operation, NSCopying, @unchecked Sendable {
    struct Core {
        var life = ConnectionLife()
        // Declared next to a member that ends with a byte: these small members then share a word.
        /// Whether an exchange that other callers may share waits for the connection.
        var isInFlight = false
        /// Whether a task has waited for the results of a batch with the connection.
        var isInAwaitedBatch = false
        /// Whether the operation has finished: its life has, and the callbacks have been dispatched.
        var hasFinished = false
        /// Whether the dependents have been released, or are about to be.
        var isReleased = false
        /// Whether ``DependencyGraph`` has a node for the connection.
        var hasNode = false
        /// Whether a subclass has prepared ``updatedRequest``.
        var isPrepared = false
        /// The secrets whose refresh waits for the connection.
        var secretsInRefresh: Set<CredentialRefreshes.Secret> = []
        /// The engine that runs the connection, until it has finished.
        var registry: ConnectionRegistry?
        /// A weak reference to the engine, for copies and callbacks after the connection has finished.
        weak var weakRegistry: ConnectionRegistry?
        /// The current run; `nil` while the connection is paused.
        var run: ConnectionRun?
        /// The slot for a partial response that may not be stored.
        var resumeSlot: ResumeSlot?
        var waiters = ConnectionWaiters()
        var observers = Listeners<AsyncStream<ConnectionState>.Continuation>()
        var callbacks = ConnectionCallbacks()
        /// The response handler of a typed call.
        var handler: ResponseHandler?
        /// Indirect, because few connections set it.
        var failedDependencies = IndirectOptional<FailedDependencies>.none
        /// The meter of the current attempt, or of the last one.
        var meter: TransferMeter?
        /// The observers of the meter.
        var progressObserver: ProgressObserver?
        /// The token that counts the connection from its start until it has finished.
        var activityToken: ActivityToken?
        var pauseCounter = PauseCounter()
        /// The connection's slot in the registry of the engine that it was started in, or that it has when it starts.
        var membership: SlotNumber?
        var isMember: Bool { membership != nil }
        /// The error that the connection fails with when it is run.
        var fault: ConnectionError?
        /// The request with the changes of the dependencies. Made once, because the connection may be run again.
        var updatedRequest = IndirectOptional<Request>.none
        /// The job of a durable request, until the connection has finished.
        var durableRequest: DurableRequest?
        /// The file to which the body is written; `nil` if the body is collected in memory.
        var file: ConnectionFile?
    }

    /// The request as it was given. Sending does not change it.
    public let request: Request

    let core = Guarded(Core())
    /// The node of the connection; `nil` while it has no edges. Only ``DependencyGraph`` uses it.
    var knownNode: DependencyNode?
    /// Whether a queue may know the connection. A gate then makes the queue wait for the dependencies. Only
    /// ``DependencyGraph`` uses it.
    var isWatched = Connection.isKeyValueObserved
    /// Whether a queue of the app may have the connection, and starts it. Only ``DependencyGraph`` uses it.
    var isQueued = false
    /// Whether an operation that is no connection waits, or has waited, for this connection, directly or through
    /// others. Operations that no connection waits for do not count. Only ``DependencyGraph`` uses it.
    var isAwaitedByForeign = false

    /// Creates a connection without an engine; it gets one when it is started.
    public init(_ request: Request) {
        self.request = request
        super.init()
    }

    deinit {
        cancelIfNeverRun()
        endObservers()
        if let knownNode { DependencyGraph.free(knownNode) }
    }

    // MARK: Operation

    /// A name for people; by default the request's description.
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
        let (isKnown, isSettled) = core.withLock { ($0.isMember && $0.activityToken != nil, $0.life.isSettled) }
        if !isKnown {
            registerIfNeeded()
            beginActivity()
        }
        // `isCancelled` would not do: `cancel()` sets it before the outcome is known.
        if !isSettled, let foreign = DependencyGraph.wait(self) {
            // A cancel just before the wait did not start the connection.
            guard core.withLock({ $0.life.isSettled }), DependencyGraph.stopWaiting(self) else {
                return breakCycle(over: foreign)
            }
        }
        perform(notifyingKVO: true) { $0.start() }
    }

    /// Cancels the connection. Its response is the error `cancelled` at once, and its dependents need not wait. The
    /// operation finishes when the running work has ended; on a queue of your own, when the queue starts it. If the
    /// request is a job by then, the error names the job (``ConnectionError/jobID``), which is still sent.
    public final override func cancel() {
        super.cancel()
        performInCore(notifyingKVO: false) { core in
            let durable = core.durableRequest
            return core.life.cancel(of: durable?.cancel())
        }
        if DependencyGraph.stopWaiting(self) { start() }
        finishCallbacksIfNeverRun()
    }

    /// The priority of the exchange. A change takes effect while the exchange waits for its permit.
    public final override var queuePriority: Operation.QueuePriority {
        get { super.queuePriority }
        set {
            super.queuePriority = newValue
            core.withLock { $0.run }?.priorityChanged()
        }
    }

    /// The block that is called once when the connection has finished, on a system thread. Setting it has no
    /// effect once the connection has finished.
    public final override var completionBlock: (@Sendable () -> Void)? {
        get { core.withLock { $0.life.isFinished ? nil : $0.callbacks.completionBlock } }
        set { setCompletionBlock(newValue) }
    }

    /// Marks the connection as canceled, because one of its dependencies has failed.
    final func markCanceled() { super.cancel() }

    /// Whether the connection has no open methods of a subclass.
    var isPlain: Bool { type(of: self) == Connection.self }

    // MARK: For subclasses

    /// Prepares the request for sending, for example signs it or fetches a value that it needs. The default does
    /// nothing.
    ///
    /// Called on one of the engine's tasks, when the connection is run and its dependencies have updated the request,
    /// before the cache lookup. Changes affect the request key; ``request`` stays as it is. It is called once for a
    /// connection, and again if the connection is paused during the call. It may wait for connections of the same
    /// engine. It is canceled with the connection, and at the ``RetryPolicy/deadline``; a later result is dropped.
    ///
    /// - Throws: any error that describes the failure. The connection fails with `preparationFailed`, and that error as
    ///   the cause.
    open func prepare(_ request: inout Request) async throws {}

    /// Checks whether a response is acceptable, by status, type or content. The default accepts every response.
    ///
    /// Called on any thread, for each response that the connection may end with, as interceptors have changed it: from
    /// a server or from the cache, but not for redirects that are followed. Be quick. These are special cases:
    ///
    /// | response | call |
    /// |---|---|
    /// | of a download (``init(_:to:)``) | for a success, without body, before the file has its name |
    /// | that replaces a stale one in the background (`staleWhileRevalidate`) | with its body |
    /// | of a finished connection's snapshot (``init(_:)-(ConnectionSnapshot)``) | when the connection is created |
    ///
    /// A server's response is checked before it is stored. A refused response is not stored, and an earlier entry
    /// stays. Connections that share an exchange each check for themselves. The one that has opened the exchange
    /// decides whether the response is stored.
    ///
    /// - Throws: any error that describes the failure. The connection fails with `invalidResponse`, the response, and
    ///   that error as the cause. Under `networkElseCache` a stored response is returned instead, except for a status
    ///   of 3xx or 4xx, and for downloads, which are checked when their bytes are in the file.
    open func validate(_ response: Response) throws {}

    /// Decodes a valid response into a value of the subclass, which guards that value with a lock. The default does
    /// nothing.
    ///
    /// Called on one of the engine's tasks, before the response is reported to callbacks and other waiters. Also called
    /// when a connection is created from a snapshot that has a response (``init(_:)-(ConnectionSnapshot)``). It is
    /// called once for a connection, and again if the connection is paused during the call, or if a response is
    /// rejected under `networkElseCache`. If the connection has opened the exchange, the response is stored after this
    /// call. If the call throws, the response is not stored, and an earlier entry stays.
    ///
    /// - Throws: any error that describes the failure. The connection fails with `undecodable` and the response.
    open func decode(_ response: Response) throws {}

    // MARK: Copies

    /// Returns a connection that is ready to send the same request, whatever the state of this one.
    ///
    /// | copied | not copied |
    /// |---|---|
    /// | ``request`` as it was given, without the changes of dependencies | dependencies, and their changes to it |
    /// | the engine, for ``retry()`` and for queues of your own | the response or the error, and the attempts |
    /// | `name`, `queuePriority`, `qualityOfService` | pauses, a cancel, and whether it was started |
    /// | ``file``, if the connection has one | the file's content |
    /// | ``failedDependencies`` | callbacks, `completionBlock`, observers, and the batches that it is in |
    ///
    /// A dependency that is added to the copy updates the copy's request, even if the dependency has finished.
    ///
    /// A subclass overrides this method, because only the subclass knows how an instance is made. Without an override,
    /// the copy fails with `noCopy` when it is run.
    ///
    /// ```swift
    /// override func copied() -> UserConnection { copySettings(to: UserConnection(user: user)) }
    /// ```
    open func copied() -> Connection {
        let copy = copySettings(to: Connection(request))
        if !isPlain { copy.core.withLock { $0.fault = ConnectionError(noCopyOf: type(of: self)) } }
        return copy
    }

    /// ``copied()``, for Foundation.
    public final func copy(with zone: NSZone?) -> Any { copied() }

    // MARK: Dependencies

    /// Makes the connection wait for another, of any engine, or for an operation of any queue, to finish.
    ///
    /// If another connection fails, ``failedDependencies`` decides what follows. If the dependency would close a cycle,
    /// the order of serial lanes included, nothing is added, and the connection fails with `dependencyCycle` when it is
    /// run. The call has no effect once the connection has started. An operation that is no connection is retained
    /// until it finishes.
    ///
    /// The engine reads the `dependencies` of operations that are no connections here, and again when a connection that
    /// depends on one is started. A cycle that their own `addDependency` closes later is not detected: its operations
    /// wait forever.
    public final override func addDependency(_ operation: Operation) { depend(on: operation) }

    /// Makes the connection wait until the returned edge is ended.
    final func hold() -> Dependency { depend(on: nil) }

    @discardableResult
    final func depend(on operation: Operation?, update: Dependency.RequestUpdate? = nil) -> Dependency {
        let edge = Dependency(on: operation, update: update)
        guard core.withLock({ !$0.life.isExecuting && !$0.life.isFinished }) else { return edge }
        var addition = DependencyGraph.add(edge, of: self, gate: nil)
        if case .needsGate = addition { addition = DependencyGraph.add(edge, of: self, gate: gate()) }
        switch addition {
        case .added(let suspects):
            // Searched once the edge exists: if two edges close a cycle together, the later one finds the earlier.
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

    /// Adds the gate that Foundation waits for from now on.
    private func gate() -> DependencyGate {
        let gate = DependencyGate()
        super.addDependency(gate)
        return gate
    }

    #if canImport(Darwin)
    /// Whether queues use key-value observing. They can then miss operations that override `isReady`.
    static let isKeyValueObserved = true
    #else
    static let isKeyValueObserved = false
    #endif

    /// Whether a queue may start the connection. An `OperationQueue` reads this when the connection is added to it; an
    /// engine does not. Do not read it elsewhere: the connection then counts as added to a queue, and ``response``
    /// waits until one starts it.
    public final override var isReady: Bool {
        #if canImport(Darwin)
        _ = DependencyGraph.needsGate(self)
        return super.isReady
        #else
        if !isCancelled, DependencyGraph.needsGate(self) {
            DependencyGraph.setGate(gate(), of: self)
            breakCycle(over: DependencyGraph.foreign(of: self))
        }
        // A canceled connection may start: a queue that has just added it would not check again.
        return super.isReady && (isCancelled || !DependencyGraph.isHeld(self))
        #endif
    }

    /// Removes a dependency, and starts the connection if it waited for nothing else.
    public final override func removeDependency(_ operation: Operation) {
        DependencyGraph.remove(operation, from: self)
    }

    /// The operations that the connection waits for, in order; none once it has finished.
    public final override var dependencies: [Operation] {
        guard !isFinished else { return [] }
        var known: Set<ObjectIdentifier> = []
        return DependencyGraph.dependencies(of: self).compactMap(\.operation)
            .filter { known.insert(ObjectIdentifier($0)).inserted }
    }
}
