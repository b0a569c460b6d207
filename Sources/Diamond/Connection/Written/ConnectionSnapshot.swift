import DiamondSQLite
public import Foundation

/// The state of a connection at one moment, as a value: to be kept, shown, sent elsewhere, or made into a connection
/// again.
///
/// ```swift
/// let kept = try connection.snapshot.json()
/// let again = engine.connection(from: try ConnectionSnapshot(json: kept))
/// ```
public struct ConnectionSnapshot: Sendable {
    /// The request as it was given, without the changes that dependencies made to it.
    public let request: Request
    /// The state of the connection at that moment.
    public let state: ConnectionState
    /// The response or the error, where it is known. This includes a connection that is paused and was answered
    /// meanwhile, and one that is canceled and has not finished. Where the request is a job already (<doc:Replaying>),
    /// it is `queued` with that job: the queue sends it, whatever becomes of the connection.
    public let result: Result<Response, ConnectionError>?
    /// The file to which the body is written; `nil` where the body is collected. The bytes of an incomplete answer in
    /// it are not in the snapshot.
    public let file: URL?
    /// The size of the file in bytes, where the connection has finished with it.
    let size: Int?

    init(
        request: Request,
        state: ConnectionState,
        result: Result<Response, ConnectionError>?,
        file: URL? = nil,
        size: Int? = nil
    ) {
        (self.request, self.state, self.result, self.file, self.size) = (request, state, result, file, size)
    }
}

extension ConnectionSnapshot: CustomStringConvertible {
    /// The request and the state, such as `GET https://h/cities, finished: success`.
    public var description: String { "\(request), \(state)" }
}

extension Connection {
    /// A snapshot of the connection as it is now. It may be taken on any thread, and does not affect the connection.
    public var snapshot: ConnectionSnapshot {
        core.withLock { core in
            ConnectionSnapshot(
                request: request, state: core.life.state, result: core.life.known ?? handedOver(core.ticket),
                file: core.file?.url, size: core.file?.size)
        }
    }

    /// Returns the outcome of a connection whose request is a job, which the queue sends with the job's own key.
    private func handedOver(_ ticket: DurableRequest?) -> ConnectionLife.Outcome? {
        guard let id = ticket?.jobID else { return nil }
        var error = ConnectionError(.queued, "\(request) is kept as job \(id), which was being sent")
        error.jobID = id
        return .failure(error)
    }

    /// Makes a connection from the snapshot of another, without an engine.
    ///
    /// If the snapshot has a result, the connection has finished with it, and is not enqueued. A subclass has validated
    /// and decoded the response by then; if it refused the response, the connection has failed. Without a result the
    /// connection is ready, or paused if the other was paused. Work that was under way, a download included, starts
    /// again from its first attempt when the connection is enqueued. Whether the server has acted already is then
    /// unknown: before you enqueue a connection whose method is not idempotent (RFC 9110 section 9.2.2), look at
    /// ``ConnectionSnapshot/state``. A connection whose request was a job has finished with `queued`, so that the
    /// request is not sent in addition to the job: wait for the job with ``ReplayQueue/end(of:)``.
    public convenience init(_ snapshot: ConnectionSnapshot) {
        self.init(snapshot.request)
        if let file = snapshot.file { write(to: file, size: snapshot.size) }
        if let outcome = snapshot.result {
            restore(outcome)
        } else if snapshot.state == .paused {
            pause()
        }
    }

    private func restore(_ stored: ConnectionLife.Outcome) {
        let outcome = taken(stored)
        if outcome.ending == .cancelled { markCanceled() }
        perform(announcing: true) { $0.restore(outcome) }
    }
}
