import DiamondSQLite
import Foundation

/// Requests that are kept, and sent later. See <doc:Replaying>.
extension Engine {
    /// The queue of the engine's store, opened at the first use. What is added to it gets the engine's base URL, headers and
    /// identity.
    ///
    /// - Throws: ``ReplayError``: `noStore` where the engine has no store.
    public func queue() throws(ReplayError) -> ReplayQueue {
        guard let replays = pipeline.replays else {
            throw ReplayError(.noStore, "the engine has no store: give its configuration one")
        }
        return try replays.open()
    }

    /// Makes a replayer that sends the jobs of the queue through this engine: its lanes, credentials, interceptors and
    /// cache.
    ///
    /// A job of an identity is sent only while that identity is signed in: where the ``CredentialProvider`` names another
    /// one, or does not know a secret for it, the job is held until its identity is released
    /// (``ReplayQueue/release(_:)-(ReplayHold)``).
    ///
    /// Jobs of a lane in which nothing begins (``Lanes/isPaused(_:)``) stay in the queue. A job that waits for a permit
    /// there when the lane is paused goes back to the queue.
    ///
    /// - Parameters:
    ///   - width: the greatest number of jobs on their way at the same time; 8. The engine's lanes limit them, too.
    ///   - identities: the identities whose jobs are claimed here, in addition to jobs of no identity; asked before
    ///     each claim. `nil`, the default, claims all.
    public func replayer(
        width: Int = 8,
        identities: (@Sendable () async -> Set<String>)? = nil
    ) throws(ReplayError) -> Replayer {
        try replayer(width: width, identities: identities) { _ in }
    }

    /// - Parameter pass: is called where a process may be ended.
    package func replayer(
        width: Int = 8,
        identities: (@Sendable () async -> Set<String>)? = nil,
        passing pass: @escaping @Sendable (ReplayFaultPoint) -> Void
    ) throws(ReplayError) -> Replayer {
        let queue = try queue()
        let sender = JobSender(pipeline: pipeline)
        return Replayer(
            queue, width: width, reachability: pipeline.reachability,
            identities: { if let identities { .only(await identities()) } else { .all } },
            lanes: pipeline.lanes, pass: pass
        ) { [calls] attempt in
            let sent = await sender.replay(attempt)
            let (id, policy) = (attempt.id, attempt.request.replay)
            return sent.result(policy, in: queue) { state in
                await calls.tell(policy.kind, id, state, sent.response)
            }
        }
    }

    /// Applies the holds of the queue to the lanes, from the first request on. A queue that cannot be opened keeps no
    /// request from being sent.
    func keepToHolds() {
        do throws(ReplayError) { _ = try pipeline.replays?.openIfExists() } catch {
            activity.report(.queueFailed(reason: error.message))
        }
    }

    /// Holds the jobs of an identity, for a logout.
    func holdJobs(of identity: String) async {
        do throws(ReplayError) {
            try await pipeline.replays?.openIfExists()?.hold(.identity(identity), reason: "signed out")
        } catch {
            activity.report(.queueFailed(reason: error.message))
        }
    }

    /// Sets the handler for the results of jobs that were made of a call of this type, in this process or an earlier
    /// one, when a replayer of this engine has sent them.
    ///
    /// - Parameters:
    ///   - type: known by its ``Endpoint/kind``, which sending a call writes down where its request is kept.
    ///   - decoder: `nil` for the engine's.
    ///   - handle: is called when a job is done, dead or in review, after that is on disk: with the decoded output, or with
    ///     the error.
    public func onReplay<Call: Endpoint>(
        _ type: Call.Type,
        decoder: (any ResponseDecoder)? = nil,
        _ handle: @escaping @Sendable (ReplayJob.ID, Result<Call.Output, ConnectionError>) async -> Void
    ) {
        calls.add(Call.kind) { [usual = self.decoder] id, response in
            await handle(id, response.flatMap { $0.replayed(as: type, decoder ?? usual) })
        }
    }
}
