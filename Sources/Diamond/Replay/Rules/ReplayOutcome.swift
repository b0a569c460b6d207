/// The outcome of an attempt to send a job, for the queue's decision about the job.
public enum ReplayOutcome: Hashable, Sendable {
    /// A server has answered.
    ///
    /// - Parameters:
    ///   - isTransient: whether the same request may get another answer later.
    ///   - pushBack: the wait that the server asks for (RFC 9110 section 10.2.3); `nil` if it asks for none.
    ///   - isBehindRedirect: whether an earlier response redirected the request, so that its server may have acted.
    ///   - bodyFailure: the error that interrupted the body; `nil` if the body is complete. It does not change the
    ///     meaning of the status.
    case answered(
        status: Int, isTransient: Bool = false, pushBack: Duration? = nil, isBehindRedirect: Bool = false,
        bodyFailure: BodyFailure? = nil)
    /// The attempt has failed without an answer.
    case failed(Fault, code: String, message: String)

    /// The error that interrupted the body of an answer.
    public struct BodyFailure: Hashable, Sendable {
        /// A short code, such as that of an error.
        var code: String
        /// A description in one line, without secrets.
        var message: String
    }

    /// The meaning of a failure for the next attempt.
    public enum Fault: Hashable, Sendable, CaseIterable {
        /// The request was certainly not processed.
        case unsent
        /// The request may have been processed.
        case unknown
        /// The network is unreachable.
        case offline
        /// The request can never be sent as it is.
        case unsendable
        /// A secret of the request is not known now: its identity has to sign in.
        case noCredential
        /// The stored request cannot be decoded. A newer version of the app may decode it.
        case undecodable
        /// The sender ended the attempt before the request was sent.
        case returned
        /// The sender ended the attempt, and the request may have been sent.
        case interrupted
    }

    /// Returns the outcome, adjusted to the number of exchanges that have begun.
    ///
    /// - Parameter isWanted: whether no caller has ended the attempt. If so, an attempt that was interrupted before its
    ///   first exchange is `unsent`, and counts. Otherwise it is `returned`.
    func known(exchanges count: Int, isWanted: Bool) -> ReplayOutcome {
        guard case .failed(let fault, let code, let message) = self else { return self }
        switch (count, fault) {
        // No exchange has begun.
        case (0, .unknown): return .failed(.unsent, code: code, message: message)
        case (0, .interrupted): return .failed(isWanted ? .unsent : .returned, code: code, message: message)
        // An earlier exchange, before a redirect or a pause, may have been processed.
        case (2..., .unsent), (2..., .offline): return .failed(.unknown, code: code, message: message)
        default: return self
        }
    }

    /// The outcome for a request that may have been processed.
    var unknown: ReplayOutcome {
        guard case .failed(let fault, let code, let message) = self else { return self }
        return .failed(fault == .returned ? .interrupted : .unknown, code: code, message: message)
    }

    /// The failure for the job's history; `nil` if the attempt succeeded.
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
