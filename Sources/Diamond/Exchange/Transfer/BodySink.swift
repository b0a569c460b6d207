import Foundation

/// Takes the body of an answer piece by piece, so that nobody has it whole.
///
/// Called by one exchange, in this order: ``open()``; for each attempt whose answer is a success ``begin(_:)`` and any number of
/// ``append(_:)``, or the latter alone for the rest of what an attempt before has begun; ``complete()`` once, where all of
/// it is here.
protocol BodySink: AnyObject, Sendable {
    /// Bytes of a body at most.
    var limit: Int { get }
    /// Whether an answer is where it cannot be taken back from: then nothing is sent again.
    var isCommitted: Bool { get }
    /// Whether the rest of an answer that broke may follow what has been taken of it.
    var isContinuable: Bool { get }

    /// Whether what it takes passes for the whole: a part that nobody has asked for is refused.
    var isForWhole: Bool { get }

    /// There is a place on the wire, and nothing has been sent: what is needed to take a body is made now. More than once
    /// where a redirect is followed.
    func open() throws(ConnectionError)

    /// An answer begins, and with it its body: what has been taken before is of no use.
    ///
    /// - Parameter head: with the attempts that led to it, and without a body.
    func begin(_ head: Response) async throws(TransportError)

    /// Another piece. The wire waits until this returns.
    func append(_ piece: Data) async throws(TransportError)

    /// The body is here to its end.
    func complete()

    /// Whether it is; an answer that is none of the sink's was given to the caller whole.
    var isComplete: Bool { get }

    func hear(_ event: ExchangeEvent)
}

extension BodySink {
    func open() {}
    func hear(_ event: ExchangeEvent) {}
}

/// The sink of a response's body, and the request that the response is for.
struct Pouring: Sendable {
    let sink: any BodySink
    /// The URL of the request, without secrets.
    let url: String
    /// The scheme, host and port of the URL.
    let origin: String
}
