/// The caller that waits for a response: a task, or a run of a connection.
///
/// It has the priority of the request, the source and the sink of bodies, and the handler of the response.
@dynamicMemberLookup
struct Caller: Sendable {
    /// The properties of a caller. ``with(_:)`` changes them.
    struct Content: Sendable {
        /// The run of the connection; `nil` for a task.
        var run: (any CallerRun)?
        /// The handler that validates and decodes the response; `nil` if the caller accepts every response.
        var handler: ResponseHandler?
        /// The sink for the body of a successful response; `nil` if the body is collected.
        var sink: (any BodySink)?
        /// The source of the request's body; `nil` if the request has its body, or there is none.
        var upload: Upload?
        /// The request target that is sent byte for byte; `nil` for that of the URL.
        var target: String?
        /// The gate to pass before each attempt of a durable request, whose exchange is not shared; `nil` for all
        /// others.
        var gate: SendGate?
        /// The durable request, which is the same for all runs of a connection; `nil` for others.
        var durableRequest: DurableRequest?
        /// The position in the log of invalidations at which the request was resolved; `nil` if it has to be resolved.
        var resolvedAt: LogPosition?
        // Next to properties of one byte, so that the smaller ones share a word.
        fileprivate var standingPriority = RequestPriority.normal
        /// Whether a shared exchange waits for the response. The caller then joins none, because it could wait for
        /// itself.
        fileprivate(set) var isInFlight: Bool
        /// The interval that exchanges belong to; `nil` if it begins with the first exchange.
        fileprivate(set) var request: ActivityInterval.ID?
    }

    private var content: CopyOnWrite<Content>

    init(
        run: (any CallerRun)? = nil,
        handler: ResponseHandler? = nil,
        durableRequest: DurableRequest? = nil,
        request: ActivityInterval.ID? = nil
    ) {
        content = CopyOnWrite(
            Content(
                run: run, handler: handler, durableRequest: durableRequest, isInFlight: Hook.isInFlight,
                request: request))
    }

    /// Returns a property of the ``Content``.
    subscript<Value>(dynamicMember property: KeyPath<Content, Value>) -> Value { content.value[keyPath: property] }

    /// Returns the caller with other properties.
    func with(_ change: (inout Content) -> Void) -> Caller {
        var caller = self
        change(&caller.content.value)
        return caller
    }

    /// The caller of background work, which continues after this caller has its response or was canceled. It has the
    /// same priority, and no run.
    var inBackground: Caller {
        with { [waiter] in
            $0.standingPriority = waiter.priority
            $0.run = nil
            $0.sink = nil
            $0.gate = nil
            $0.durableRequest = nil
            $0.isInFlight = false
            $0.handler = $0.handler?.withoutSideEffects
        }
    }

    /// Receives an event of an exchange that runs in the caller's own task.
    func receive(_ event: ExchangeEvent) {
        switch event {
        case .began, .personal, .waiting: break
        case .attempt: self.run?.setWaiting(false)
        case .permitReleased: self.run?.setWaiting(true)
        }
        self.run?.receive(event)
        self.sink?.receive(event)
        self.upload?.receive(event)
    }

    /// Runs a body that waits for something other than the wire, so that another connection may start meanwhile.
    func whileWaiting<Value: ~Copyable, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard let run = self.run else { return try await body() }
        run.setWaiting(true)
        defer { run.setWaiting(false) }
        return try await body()
    }
}

extension Caller {
    /// The waiter with the connection's priority; that of a task, and of background work, does not change.
    var waiter: any PriorityWaiter { self.run ?? StandingPriority.waiter(content.value.standingPriority) }
}
