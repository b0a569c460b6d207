import DiamondSQLite
public import Foundation

/// A connection as it stood at one moment, as a value: to be kept, shown, sent elsewhere, and made a connection of again.
///
/// ```swift
/// let kept = try connection.snapshot.json()
/// let again = engine.connection(from: try ConnectionSnapshot(json: kept))
/// ```
public struct ConnectionSnapshot: Sendable {
    /// As it was given: not what dependencies have changed in it.
    public let request: Request
    /// Where it stood then.
    public let state: ConnectionState
    /// The response or the error, where it is known: also of a connection that is paused and was answered meanwhile, and of
    /// one that is canceled and has not finished. Where the request is a job already (<doc:Replaying>), it is `queued` with
    /// that job: the queue sends it, whatever becomes of the connection.
    public let result: Result<Response, ConnectionError>?
    /// Where the body goes; `nil` where it is collected. What is in it of an answer that is not whole is not in the snapshot.
    public let file: URL?
    /// Bytes of the file, where the connection has ended with it.
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
    /// How it stands now. Taken on any thread; the connection does not notice.
    public var snapshot: ConnectionSnapshot {
        core.withLock { core in
            ConnectionSnapshot(
                request: request, state: core.life.state, result: core.life.known ?? handedOver(core.ticket),
                file: core.file?.url, size: core.file?.size)
        }
    }

    /// What is known where the request is a job, which is sent with the key that the job has.
    private func handedOver(_ ticket: DurableRequest?) -> ConnectionLife.Outcome? {
        guard let id = ticket?.jobID else { return nil }
        var error = ConnectionError(.queued, "\(request) is kept as job \(id), which was being sent")
        error.jobID = id
        return .failure(error)
    }

    /// Makes a connection of what another was, without an engine.
    ///
    /// Where the snapshot has a result, the connection has finished with it, and is not enqueued. A subclass has validated and
    /// decoded the response by then, and the connection has failed where it did not take it. Else it is ready, or paused
    /// where the other was: what was under way, a download included, begins anew when it is enqueued, with its first attempt.
    /// Whether the server has acted already, nobody knows then: before you enqueue one whose method is not idempotent (RFC
    /// 9110 section 9.2.2), look at ``ConnectionSnapshot/state``. One whose request was a job has finished with `queued`, so
    /// that it does not go out beside that: wait for the job with ``ReplayQueue/end(of:)``.
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
