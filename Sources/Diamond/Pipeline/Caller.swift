/// The caller that waits for a response: a task, or a run of a connection.
///
/// Says how urgent the request is, where bodies come from and go, and what the caller makes of the response.
struct Caller: Sendable {
    private struct Content: Sendable {
        var run: (any CallerRun)?
        var handler: ResponseHandler?
        var sink: (any BodySink)?
        var upload: Upload?
        var gate: SendGate?
        var ticket: DurableRequest?
        var resolvedAt: InvalidationLog.Instant?
        // Beside what ends with a byte: the smaller ones take no words of their own.
        var standingPriority = RequestPriority.normal
        var isInFlight: Bool
        var request: ActivityInterval.ID?
    }

    private var content: CopyOnWrite<Content>

    init(
        run: (any CallerRun)? = nil,
        handler: ResponseHandler? = nil,
        ticket: DurableRequest? = nil,
        request: ActivityInterval.ID? = nil
    ) {
        content = CopyOnWrite(
            Content(run: run, handler: handler, ticket: ticket, isInFlight: Hook.isInFlight, request: request))
    }

    /// The run of the connection that asks; `nil` for a task.
    var run: (any CallerRun)? { content.value.run }
    /// Validates and decodes the response; `nil` where the caller takes every response as it is.
    var handler: ResponseHandler? { content.value.handler }
    /// Receives the body of a success; `nil` where the body is collected.
    var sink: (any BodySink)? { content.value.sink }
    /// The source of the request's body; `nil` where the request has its body, or there is none.
    var upload: Upload? { content.value.upload }
    /// Asked before anything is sent, for a request that is kept to be sent later; its exchange is not shared. `nil` for all
    /// others.
    var gate: SendGate? { content.value.gate }
    /// The instant at which the request was resolved; `nil` where it is still to be.
    var resolvedAt: InvalidationLog.Instant? { content.value.resolvedAt }
    /// The job of a request that is kept, over all runs of a connection.
    var ticket: DurableRequest? { content.value.ticket }
    /// The interval that exchanges belong to; `nil` where it begins with the first exchange.
    var request: ActivityInterval.ID? { content.value.request }
    /// Whether a shared exchange waits for the response, and so possibly its own.
    var isInFlight: Bool { content.value.isInFlight }

    /// The caller with a sink for the body of a success.
    func receiving(into sink: any BodySink) -> Caller { changed { $0.sink = sink } }

    /// The caller with a source for the request's body; without one for `nil`.
    func uploading(_ upload: Upload?) -> Caller { changed { $0.upload = upload } }

    /// The caller with a gate that is asked before anything is sent.
    func behind(_ gate: SendGate) -> Caller { changed { $0.gate = gate } }

    /// The caller of a request that is resolved.
    func resolved(at instant: InvalidationLog.Instant) -> Caller { changed { $0.resolvedAt = instant } }

    /// The caller for work that goes on when it has its response, or has left: as urgent, and waited for by nobody.
    var inBackground: Caller {
        changed { [priority] in
            $0.standingPriority = priority
            $0.run = nil
            $0.sink = nil
            $0.gate = nil
            $0.ticket = nil
            $0.isInFlight = false
            $0.handler = $0.handler?.withoutTrace
        }
    }

    /// Takes an event of an exchange that runs in the caller's own task.
    func receive(_ event: ExchangeEvent) {
        switch event {
        case .began, .personal, .waiting: break
        case .attempt: run?.stepAside(false)
        case .aside: run?.stepAside(true)
        }
        run?.receive(event)
        sink?.hear(event)
        upload?.hear(event)
    }

    /// Runs a body that waits for something else than the wire; meanwhile another connection may start.
    func aside<Value: ~Copyable, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard let run else { return try await body() }
        run.stepAside(true)
        defer { run.stepAside(false) }
        return try await body()
    }

    private func changed(_ change: (inout Content) -> Void) -> Caller {
        var caller = self
        caller.content.change(change)
        return caller
    }
}

extension Caller: PriorityWaiter {
    /// The connection's priority now; that of a task, and of background work, does not change.
    var priority: RequestPriority { run?.priority ?? content.value.standingPriority }

    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) { run?.onPriorityChange(change) }
}
