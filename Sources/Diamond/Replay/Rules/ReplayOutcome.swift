/// What came of an attempt to send a job, as far as the queue has to know.
package enum ReplayOutcome: Hashable, Sendable {
    /// A server has answered.
    ///
    /// - Parameters:
    ///   - isTransient: whether the same request may be answered otherwise later.
    ///   - pushBack: how long the server asks to wait (RFC 9110 section 10.2.3); `nil` where it does not say.
    ///   - isBehindRedirect: whether one before has redirected the request, and may have acted.
    ///   - bodyFailure: why the body is not here; `nil` where it is. It changes nothing of what the status means.
    case answered(
        status: Int, isTransient: Bool = false, pushBack: Duration? = nil, isBehindRedirect: Bool = false,
        bodyFailure: BodyFailure? = nil)
    case failed(Fault, code: String, message: String)

    /// The error that ended the body of an answer.
    package struct BodyFailure: Hashable, Sendable {
        var code: String
        var message: String
    }

    /// What a failure means for another attempt.
    package enum Fault: Hashable, Sendable, CaseIterable {
        /// It surely was not processed.
        case unsent
        /// It may have been processed.
        case unknown
        /// The network is away.
        case offline
        /// It will never be sent as it is.
        case unsendable
        /// A secret of it is not known now: its identity has to sign in.
        case noCredential
        /// What is on disk cannot be read. A newer version of the app may.
        case undecodable
        /// Whoever sent it wanted the end, before it left.
        case returned
        /// The same, and it may have left.
        case interrupted
    }

    /// What it means when it is known how many exchanges have begun for it.
    ///
    /// - Parameter isWanted: whether nobody has asked for the end: what is ended then is a failure like any other.
    func known(exchanges count: Int, isWanted: Bool) -> ReplayOutcome {
        guard case .failed(let fault, let code, let message) = self else { return self }
        switch (count, fault) {
        // Nothing has left.
        case (0, .unknown): return .failed(.unsent, code: code, message: message)
        case (0, .interrupted): return .failed(isWanted ? .unsent : .returned, code: code, message: message)
        // Another has begun before, by a redirect or before a pause: what was asked for may have been done.
        case (2..., .unsent), (2..., .offline): return .failed(.unknown, code: code, message: message)
        default: return self
        }
    }

    /// The same where it may have been processed.
    var unknown: ReplayOutcome {
        guard case .failed(let fault, let code, let message) = self else { return self }
        return .failed(fault == .returned ? .interrupted : .unknown, code: code, message: message)
    }

    /// What the job's history keeps of it; `nil` where all went well.
    var failure: (code: String, message: String)? {
        switch self {
        case .answered(let status, _, _, _, let bodyFailure):
            let isGood = (200..<400).contains(status)
            guard let bodyFailure else { return isGood ? nil : ("status \(status)", "the server answered \(status)") }
            let message = "the server answered \(status), and its body could not be read: \(bodyFailure.message)"
            return (isGood ? bodyFailure.code : "status \(status)", message)
        case .failed(_, let code, let message): return (code, message)
        }
    }
}
