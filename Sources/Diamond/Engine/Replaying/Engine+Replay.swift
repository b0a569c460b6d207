import DiamondSQLite
import Foundation

/// Requests that are queued and sent later. See <doc:Replaying>.
extension Engine {
    /// Returns the queue of the engine (``Configuration/queue``), and opens it on first use. Requests that are added to
    /// it get the engine's base URL, headers and identity.
    ///
    /// - Throws: ``ReplayError``: `noStore` if the queue is the store's, and the engine has no store; `notSealed` if
    ///   the engine has a seal, and the queue's server would have the jobs in clear.
    public func queue() throws(ReplayError) -> ReplayQueue {
        guard let replays = pipeline.replays else { throw .noStore }
        return try replays.open()
    }

    /// Returns the queue if it is open, or if it exists, for this package's other targets; otherwise `nil`.
    package func queueIfExists() throws(ReplayError) -> ReplayQueue? { try pipeline.replays?.openIfExists() }

    /// Whether the engine sends the jobs of its queue itself, for this package's other targets.
    package var replaysAutomatically: Bool { automaticReplay != nil }

    /// Returns a new replayer, which sends the jobs of the queue through this engine: its lanes, credentials,
    /// interceptors and cache.
    ///
    /// A job of an identity is sent only while that identity is signed in. If the ``CredentialProvider`` names another
    /// identity, or does not know a secret for it, the job is held until its identity is released
    /// (``ReplayQueue/release(_:)-(ReplayHold)``).
    ///
    /// Jobs of a paused lane (``Lanes/isPaused(_:)``) stay in the queue. A job that already waits for a permit of the
    /// lane goes back to the queue when the lane is paused.
    ///
    /// - Parameters:
    ///   - width: the maximum number of jobs that are sent at the same time; 8 by default. The engine's lanes limit
    ///     them as well.
    ///   - identities: returns the identities whose jobs are claimed, in addition to jobs without one. Called before
    ///     each claim. `nil`, the default, claims all.
    public func replayer(
        width: Int = 8,
        identities: (@Sendable () async -> Set<String>)? = nil
    ) throws(ReplayError) -> Replayer {
        try replayer(width: width, identities: identities) { _ in }
    }

    /// Returns a new replayer for tests.
    ///
    /// - Parameter pass: called at the points at which a test may end the process.
    package func replayer(
        width: Int = 8,
        identities: (@Sendable () async -> Set<String>)? = nil,
        passing pass: @escaping @Sendable (ReplayFaultPoint) -> Void
    ) throws(ReplayError) -> Replayer {
        Self.replayer(
            of: try queue(), width: width, identities: identities, pipeline: pipeline, handlers: replayHandlers,
            passing: pass)
    }

    /// Makes a replayer that does not retain its engine.
    private static func replayer(
        of queue: ReplayQueue,
        width: Int,
        identities: (@Sendable () async -> Set<String>)? = nil,
        pipeline: Pipeline,
        handlers: ReplayHandlers,
        passing pass: @escaping @Sendable (ReplayFaultPoint) -> Void
    ) -> Replayer {
        let sender = JobSender(pipeline: pipeline)
        return Replayer(
            queue, width: width, reachability: pipeline.reachability, answers: pipeline.answers,
            identities: { if let identities { .only(await identities()) } else { .all } },
            lanes: pipeline.lanes, pass: pass
        ) { attempt in
            let sent = await sender.replay(attempt)
            let id = attempt.id
            let policy = attempt.request.replay
            return sent.result(policy, in: queue) { state in
                await handlers.report(sent.response, of: id, kind: policy.kind, state: state)
            }
        }
    }

    /// Starts the engine's own replayer, if there is one.
    ///
    /// - Parameter pass: called at the points at which a test may end the process.
    func startReplays(passing pass: @escaping @Sendable (ReplayFaultPoint) -> Void) {
        guard let automaticReplay, let replays = pipeline.replays else { return }
        automaticReplay.start { [pipeline, handlers = replayHandlers] () throws(ReplayError) in
            Self.replayer(of: try replays.open(), width: 8, pipeline: pipeline, handlers: handlers, passing: pass)
        } reportingFailure: { [activity] error in
            activity.report(.queueFailed(reason: error.message))
        }
    }

    /// Applies the holds of the queue to the lanes: those of a file from the first request on, those of a server as
    /// soon as they have been read. A queue that cannot be opened does not prevent requests from being sent.
    func applyHolds() {
        let report: @Sendable (ReplayError) -> Void = { [activity] error in
            activity.report(.queueFailed(reason: error.message))
        }
        do throws(ReplayError) { try pipeline.replays?.openSoon(reportingFailure: report) } catch { report(error) }
    }

    /// Holds or erases the jobs of an identity, for a logout.
    ///
    /// - Returns: the error that keeps data of the identity in the queue, or its jobs from being held; `nil` for none.
    func forgetJobs(of identity: String, discarding discardsJobs: Bool) async -> CacheError? {
        do throws(ReplayError) {
            try await pipeline.replays?.openIfExists()?.signOut(identity, discardingJobs: discardsJobs)
            return nil
        } catch {
            activity.report(.queueFailed(reason: error.message))
            // The kinds have the same names.
            return CacheError(CacheError.Code(description: error.code.description), error.message)
        }
    }

    /// Sets the handler for the results of jobs that were created from a call of this type, in this process or an
    /// earlier one. It is called for the jobs that a replayer of this engine has sent.
    ///
    /// - Parameters:
    ///   - type: the type of the call. The job stores its ``Endpoint/kind``.
    ///   - decoder: the decoder; `nil` for the engine's.
    ///   - handle: called with the decoded output or the error when a job is done, dead or in review. The new state is
    ///     on disk by then.
    public func onReplay<Call: Endpoint>(
        _ type: Call.Type,
        decoder: (any ResponseDecoder)? = nil,
        _ handle: @escaping @Sendable (ReplayJob.ID, Result<Call.Output, ConnectionError>) async -> Void
    ) {
        replayHandlers.add(kind: Call.kind, handler: ReplayHandlers.handler(of: type, decoder: decoder, handle))
    }
}
