/// Who asks for a response: how urgently, and whether as a task that waits or as a connection that is run again.
struct Asker: Sendable {
    /// That of the connection at the time; else the ``standingPriority``.
    var priority: FlightPriority { claim?.priority ?? standingPriority }
    /// That of a task, and of what goes on behind an answer.
    var standingPriority = FlightPriority.normal
    /// `nil` for a task that waits.
    var claim: FlightClaim?
    /// `nil` where every answer is taken as it is.
    var acceptance: Acceptance?
    /// Where the body of a success goes; `nil` where it is collected.
    var sink: (any BodySink)? {
        get { boxedSink.value }
        set { boxedSink = Boxed(newValue) }
    }
    // Few have one, and all are copied.
    private var boxedSink = Boxed<any BodySink>.none
    /// Asked before anything leaves; what has one was resolved before, and shares no exchange. `nil` for all but what is kept
    /// to be sent later.
    var gate: SendGate?
    /// What ``Forgotten`` counted when what it asks was resolved; `nil` where that is still to be done.
    var resolvedAt: Int?
    /// The job of a request that is kept, over all runs of a connection.
    var ticket: ReplayTicket?
    /// Whether an exchange waits for it that others may share, and so possibly itself.
    let isInFlight = Hook.isInFlight
    /// What its exchanges belong to, once that has begun.
    var request: ActivityInterval.ID?

    init(
        claim: FlightClaim? = nil,
        acceptance: Acceptance? = nil,
        sink: (any BodySink)? = nil,
        ticket: ReplayTicket? = nil,
        request: ActivityInterval.ID? = nil
    ) {
        (self.claim, self.acceptance) = (claim, acceptance)
        (boxedSink, self.ticket, self.request) = (Boxed(sink), ticket, request)
    }
}
