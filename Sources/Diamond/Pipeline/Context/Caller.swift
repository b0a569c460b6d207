/// The caller that waits for a response: a task, or a run of a connection.
///
/// It has the priority of the request, the source and the sink of bodies, and the handler of the response.
struct Caller: Sendable {
    private struct Content: Sendable {
        var run: (any CallerRun)?
        var handler: ResponseHandler?
        var sink: (any BodySink)?
        var upload: Upload?
        var target: String?
        var gate: SendGate?
        var durableRequest: DurableRequest?
        var resolvedAt: LogPosition?
        // Next to properties of one byte, so that the smaller ones share a word.
        var standingPriority = RequestPriority.normal
        var isInFlight: Bool
        var request: ActivityInterval.ID?
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

    /// The run of the connection; `nil` for a task.
    var run: (any CallerRun)? { content.value.run }
    /// The handler that validates and decodes the response; `nil` if the caller accepts every response.
    var handler: ResponseHandler? { content.value.handler }
    /// The sink for the body of a successful response; `nil` if the body is collected.
    var sink: (any BodySink)? { content.value.sink }
    /// The source of the request's body; `nil` if the request has its body, or there is none.
    var upload: Upload? { content.value.upload }
    /// The request target that is sent byte for byte; `nil` for that of the URL.
    var target: String? { content.value.target }
    /// The gate to pass before each attempt of a durable request, whose exchange is not shared; `nil` for all others.
    var gate: SendGate? { content.value.gate }
    /// The position in the log of invalidations at which the request was resolved; `nil` if it has to be resolved.
    var resolvedAt: LogPosition? { content.value.resolvedAt }
    /// The durable request, which is the same for all runs of a connection; `nil` for others.
    var durableRequest: DurableRequest? { content.value.durableRequest }
    /// The interval that exchanges belong to; `nil` if it begins with the first exchange.
    var request: ActivityInterval.ID? { content.value.request }
    /// Whether a shared exchange waits for the response. The caller then joins none, because it could wait for itself.
    var isInFlight: Bool { content.value.isInFlight }

    /// Returns the caller with a sink for the body of a successful response.
    func receiving(into sink: any BodySink) -> Caller { changed { $0.sink = sink } }

    /// The caller without a sink.
    var collecting: Caller { changed { $0.sink = nil } }

    /// Returns the caller with a source for the request's body; `nil` removes it.
    func uploading(_ upload: Upload?) -> Caller { changed { $0.upload = upload } }

    /// Returns the caller with a request target that is sent byte for byte.
    func forwarding(to target: String) -> Caller { changed { $0.target = target } }

    /// Returns the caller with a gate to pass before each attempt.
    func gated(by gate: SendGate) -> Caller { changed { $0.gate = gate } }

    /// Returns the caller of a request that was resolved at a position.
    func resolved(at position: LogPosition) -> Caller { changed { $0.resolvedAt = position } }

    /// The caller of background work, which continues after this caller has its response or was canceled. It has the
    /// same priority, and no run.
    var inBackground: Caller {
        changed { [priority] in
            $0.standingPriority = priority
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
        case .attempt: run?.setWaiting(false)
        case .permitReleased: run?.setWaiting(true)
        }
        run?.receive(event)
        sink?.receive(event)
        upload?.receive(event)
    }

    /// Runs a body that waits for something other than the wire, so that another connection may start meanwhile.
    func whileWaiting<Value: ~Copyable, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard let run else { return try await body() }
        run.setWaiting(true)
        defer { run.setWaiting(false) }
        return try await body()
    }

    private func changed(_ change: (inout Content) -> Void) -> Caller {
        var caller = self
        change(&caller.content.value)
        return caller
    }
}

extension Caller: PriorityWaiter {
    /// The connection's priority now; that of a task, and of background work, does not change.
    var priority: RequestPriority { run?.priority ?? content.value.standingPriority }

    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) { run?.onPriorityChange(change) }
}
