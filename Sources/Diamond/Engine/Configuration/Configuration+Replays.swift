import HTTPTypes

extension Engine.Configuration {
    /// The sender of the jobs of the engine's queue.
    public enum Replays: Hashable, Sendable {
        /// The app runs replayers itself (``Engine/replayer(width:identities:)``).
        case manually
        /// The engine runs a replayer from its start until it is closed or deallocated. The replayer sends the jobs
        /// that an earlier process has left, and every job when it is due. Jobs that wait because of the network are
        /// sent when it returns, or when their origin answers.
        ///
        /// The engine creates the queue if it is missing. Engines and processes with the same store share its jobs.
        case automatically
    }

    /// Sets the handler for the results of jobs that were made from a call of this type, as
    /// ``Engine/onReplay(_:decoder:_:)`` does. With ``Replays/automatically``, jobs may be sent as soon as the engine
    /// exists. Set a handler here if it must receive the results of jobs from earlier processes.
    ///
    /// - Parameters:
    ///   - type: the type of the call. The job stores its ``Endpoint/kind``.
    ///   - decoder: the decoder; `nil` for the engine's.
    ///   - handle: called with the decoded output or the error when a job is done, dead or in review. The new state is
    ///     on disk by then.
    public mutating func onReplay<Call: Endpoint>(
        _ type: Call.Type,
        decoder: (any ResponseDecoder)? = nil,
        _ handle: @escaping @Sendable (ReplayJob.ID, Result<Call.Output, ConnectionError>) async -> Void
    ) {
        replayHandlers[ExactText(Call.kind)] = ReplayHandlers.handler(of: type, decoder: decoder, handle)
    }
}
