/// Who asks for a response: how urgently, and whether as a task that waits or as a connection that is run again.
struct Asker: Sendable {
    private struct Content: Sendable {
        var claim: FlightClaim?
        var acceptance: Acceptance?
        var sink: (any BodySink)?
        var upload: Upload?
        var gate: SendGate?
        var ticket: ReplayTicket?
        var resolvedAt: Int?
        // Beside what ends with a byte: the smaller ones take no words of their own.
        var standingPriority = FlightPriority.normal
        var isInFlight: Bool
        var request: ActivityInterval.ID?
    }

    private var content: CopyOnWrite<Content>

    /// Nobody yet.
    static let nobody = Asker(content: CopyOnWrite(Content(isInFlight: false)))

    private init(content: CopyOnWrite<Content>) { self.content = content }

    init(
        claim: FlightClaim? = nil,
        acceptance: Acceptance? = nil,
        ticket: ReplayTicket? = nil,
        request: ActivityInterval.ID? = nil
    ) {
        content = CopyOnWrite(
            Content(
                claim: claim, acceptance: acceptance, ticket: ticket, isInFlight: Hook.isInFlight, request: request))
    }

    /// That of the connection at the time; else that of a task, and of what goes on behind an answer.
    var priority: FlightPriority { claim?.priority ?? content.value.standingPriority }
    /// `nil` for a task that waits.
    var claim: FlightClaim? { content.value.claim }
    /// `nil` where every answer is taken as it is.
    var acceptance: Acceptance? { content.value.acceptance }
    /// Where the body of a success goes; `nil` where it is collected.
    var sink: (any BodySink)? { content.value.sink }
    /// Where the body of the request comes from; `nil` where the request has it, or there is none.
    var upload: Upload? { content.value.upload }
    /// Asked before anything leaves; what has one was resolved before, and shares no exchange. `nil` for all but what is kept
    /// to be sent later.
    var gate: SendGate? { content.value.gate }
    /// What ``Forgotten`` counted when what it asks was resolved; `nil` where that is still to be done.
    var resolvedAt: Int? { content.value.resolvedAt }
    /// The job of a request that is kept, over all runs of a connection.
    var ticket: ReplayTicket? { content.value.ticket }
    /// What its exchanges belong to; `nil` where that begins with the first.
    var request: ActivityInterval.ID? { content.value.request }
    /// Whether an exchange waits for it that others may share, and so possibly itself.
    var isInFlight: Bool { content.value.isInFlight }

    /// The same, the body of a success to go elsewhere.
    func pouring(into sink: any BodySink) -> Asker { changed { $0.sink = sink } }

    /// The same, the body of the request to come from elsewhere; from nowhere with `nil`.
    func uploading(_ upload: Upload?) -> Asker { changed { $0.upload = upload } }

    /// The same, asked before anything leaves.
    func behind(_ gate: SendGate) -> Asker { changed { $0.gate = gate } }

    /// The same, for what is resolved.
    func resolved(at epoch: Int) -> Asker { changed { $0.resolvedAt = epoch } }

    /// Of what goes on behind the answer, or without the one who has asked: as urgent, and waited for by nobody.
    var behindAnswer: Asker {
        changed { [priority] in
            ($0.standingPriority, $0.claim, $0.sink) = (priority, nil, nil)
            // Nor is it a job's, nor what an exchange waits for.
            ($0.gate, $0.ticket, $0.isInFlight) = (nil, nil, false)
            $0.acceptance = $0.acceptance?.withoutTrace
        }
    }

    func hear(_ event: ExchangeEvent) {
        claim?.hear(event)
        sink?.hear(event)
        upload?.hear(event)
    }

    private func changed(_ change: (inout Content) -> Void) -> Asker {
        var asker = self
        asker.content.change(change)
        return asker
    }
}

extension Asker: PlaceWaiter {
    func wait(under number: SlotNumber?) { claim?.wait(under: number) }
}
