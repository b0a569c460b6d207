import DiamondSQLite
public import Foundation

/// The state of a connection at one moment, as a value that can be stored. A new connection can be created from it.
///
/// ```swift
/// let data = try connection.snapshot.json()
/// let connection = engine.connection(from: try ConnectionSnapshot(json: data))
/// ```
public struct ConnectionSnapshot: Sendable {
    /// The request as it was given, without the changes that dependencies made to it.
    public let request: Request
    /// The state of the connection at that moment.
    public let state: ConnectionState
    /// The response or the error; `nil` if it is not known. After a cancel, or if the response came during a pause, it
    /// is known before the connection has finished. If the request is a job already (<doc:Replaying>), the result is
    /// `queued` with that job, which the queue sends independently of the connection.
    public let result: Result<Response, ConnectionError>?
    /// The file to which the body is written; `nil` if the body is collected in memory. The bytes of an incomplete body
    /// are not part of the snapshot.
    public let file: URL?
    /// The size of the file in bytes, if it is complete.
    let size: Int?

    init(
        request: Request,
        state: ConnectionState,
        result: Result<Response, ConnectionError>?,
        file: URL? = nil,
        size: Int? = nil
    ) {
        self.request = request
        self.state = state
        self.result = result
        self.file = file
        self.size = size
    }
}

extension ConnectionSnapshot: CustomStringConvertible {
    /// The request and the state, such as `GET https://h/cities, finished: success`.
    public var description: String { "\(request), \(state)" }
}

extension Connection {
    /// A snapshot of the current state. It may be made on any thread, and does not affect the connection.
    public var snapshot: ConnectionSnapshot {
        core.withLock { core in
            ConnectionSnapshot(
                request: request, state: core.life.state,
                result: core.life.known ?? queuedOutcome(of: core.durableRequest),
                file: core.file?.url, size: core.file?.size)
        }
    }

    /// Returns the outcome `queued` if the request is a job already.
    private func queuedOutcome(of durableRequest: DurableRequest?) -> ConnectionLife.Outcome? {
        guard let id = durableRequest?.jobID else { return nil }
        var error = ConnectionError(.queued, "\(request) is queued as job \(id), which was being sent")
        error.jobID = id
        return .failure(error)
    }

    /// Creates a connection from the snapshot of another, without an engine.
    ///
    /// If the snapshot has a result, the connection has finished with it, and need not be started. A subclass
    /// validates and decodes the response first; if it rejects the response, the connection has failed. Without a
    /// result the connection is ready, or paused if the other was paused. Work that was under way starts again from its
    /// first attempt when the connection is started. A download continues if its received part was recorded. Whether
    /// the server has acted already is then unknown: before you start a connection whose method is not idempotent
    /// (RFC 9110 section 9.2.2), check ``ConnectionSnapshot/state``. A connection whose request was a job has finished
    /// with `queued`, so that the request is not sent in addition to the job: wait for the job with
    /// ``ReplayQueue/end(of:)``.
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
        let outcome = validatedOutcome(of: stored)
        if outcome.ending == .cancelled { markCanceled() }
        perform(notifyingKVO: true) { $0.restore(outcome) }
    }
}
