import Foundation
import HTTPTypes

/// The meaning of a response or an error for a later attempt.
extension ReplayOutcome {
    /// Creates the outcome of an attempt that got a response.
    ///
    /// - Parameters:
    ///   - statuses: the statuses that another attempt may change.
    ///   - now: the current time.
    ///   - isBehindRedirect: whether a server has redirected the request before, and may have acted.
    init(_ response: Response, statuses: Set<Int>, now: WallTime, isBehindRedirect: Bool) {
        self.init(
            answered: response.status, response.headers, statuses: statuses, now: now,
            isBehindRedirect: isBehindRedirect)
    }

    private init(
        answered status: HTTPResponse.Status,
        _ headers: HTTPFields,
        statuses: Set<Int>,
        now: WallTime,
        isBehindRedirect: Bool,
        bodyFailure: BodyFailure? = nil
    ) {
        self = .answered(
            status: status.code,
            isTransient: statuses.contains(status.code),
            pushBack: RetryAfter.duration(headers, now: now),
            isBehindRedirect: isBehindRedirect,
            bodyFailure: bodyFailure
        )
    }

    /// Creates the outcome of an attempt that failed.
    ///
    /// - Parameters:
    ///   - method: the method of the job's request.
    ///   - statuses: the statuses that another attempt may change.
    ///   - now: the current time.
    ///   - isReachable: whether the network is reachable.
    ///   - isBehindRedirect: whether a server has redirected the request before, and may have acted.
    init(
        _ error: ConnectionError, method: HTTPRequest.Method, statuses: Set<Int>, now: WallTime, isReachable: Bool,
        isBehindRedirect: Bool
    ) {
        if let response = error.response {
            self.init(response, statuses: statuses, now: now, isBehindRedirect: isBehindRedirect)
        } else if let head = error.head.value, head.status.decides(method) {
            self.init(
                answered: head.status, head.headers, statuses: statuses, now: now, isBehindRedirect: isBehindRedirect,
                bodyFailure: BodyFailure(code: error.code.description, message: error.message))
        } else {
            let fault = Self.fault(
                of: error, statuses: statuses, isReachable: isReachable, isBehindRedirect: isBehindRedirect)
            self = .failed(fault, code: error.code.description, message: error.message)
        }
    }

    private static func fault(
        of error: ConnectionError, statuses: Set<Int>, isReachable: Bool, isBehindRedirect: Bool
    ) -> Fault {
        switch error.code {
        case .cancelled: return .interrupted
        // The request may have been sent before the engine was closed.
        case .noEngine:
            return (error.cause as? TransportError)?.serverMayHaveActed == false ? .returned : .interrupted
        // The target of the redirect was not reached, but the first server may have acted: some servers act and then
        // redirect, even with 307. Neither the network nor the request is the cause.
        case _ where isBehindRedirect: return .unknown
        case .badRequest, .badSettings: return .unsendable
        case .noCredential:
            return transientFault(ofProvider: error, statuses: statuses, isReachable: isReachable) ?? .noCredential
        case .circuitOpen, .preparationFailed: return .unsent
        default: break
        }
        guard let cause = error.cause as? TransportError else { return .unknown }
        if !isReachable || cause.code == .cannotResolveHost {
            return cause.serverMayHaveActed ? .unknown : .offline
        }
        return cause.serverMayHaveActed ? .unknown : .unsent
    }

    /// Returns the fault for a credential that is unavailable for now; `nil` if the user has to sign in. The server of
    /// the credential provider could not be reached, or may answer differently later.
    private static func transientFault(
        ofProvider error: ConnectionError, statuses: Set<Int>, isReachable: Bool
    ) -> Fault? {
        let failure = error.cause as? ConnectionError
        if let response = failure?.response { return statuses.contains(response.status.code) ? .unsent : nil }
        guard let cause = failure?.cause ?? error.cause else { return nil }
        return TransportError.Code(ofNetwork: cause).map { code in
            isReachable && code != .cannotResolveHost ? .unsent : .offline
        }
    }

    /// Whether a request that is not in the queue yet should be added: a later attempt may have another outcome.
    var isWorthQueueing: Bool {
        switch self {
        case .answered(_, let isTransient, _, _, _): isTransient
        case .failed(let fault, _, _): [.unsent, .unknown, .offline].contains(fault)
        }
    }
}

extension TransportError.Code {
    /// Creates the code of a network failure, also of the platform's own URL loading; `nil` for any other error.
    fileprivate init?(ofNetwork error: any Error) {
        if let error = error as? TransportError, Self.ofNetwork.values.contains(error.code) {
            self = error.code
        } else if let number = (error as? URLError)?.code.rawValue, let code = Self.ofNetwork[number] {
            self = code
        } else {
            return nil
        }
    }

    /// The codes of network failures by the codes of `URLError`.
    private static let ofNetwork: [Int: TransportError.Code] = [
        NSURLErrorTimedOut: .timedOut, NSURLErrorCannotFindHost: .cannotResolveHost,
        NSURLErrorDNSLookupFailed: .cannotResolveHost, NSURLErrorCannotConnectToHost: .cannotConnect,
        NSURLErrorNotConnectedToInternet: .cannotConnect, NSURLErrorNetworkConnectionLost: .connectionLost,
    ]
}

extension ReplayDraft.History {
    /// Creates the history of the attempts made before the request was queued.
    ///
    /// - Parameter queue: the queue by whose time the attempts are noted.
    init(of attempts: [Attempt], result: JobResult, in queue: ReplayQueue) {
        outcome = result.outcome
        unknownSince = result.unknownSince
        draw = queue.clock.draw()
        failures = attempts.map { Failure($0, in: queue) }
        // A single attempt is not recorded, so its start is unknown.
        if failures.isEmpty, let failure = result.outcome.failure {
            failures = [Failure(startedAt: queue.now(), code: failure.code, message: failure.message)]
        }
    }
}

extension ReplayDraft.History.Failure {
    fileprivate init(_ attempt: Attempt, in queue: ReplayQueue) {
        startedAt = queue.time(ofWall: WallTime(attempt.startedAt))
        switch attempt.outcome {
        case .answered(let status):
            code = "status \(status.code)"
            message = "the server answered \(status.code)"
        case .failed(let code, let message):
            self.code = code
            self.message = message
        }
    }
}

extension [Attempt] {
    /// The start of the first attempt that may have been processed with an unknown outcome; `nil` for none.
    var unknownSince: WallTime? { first(where: \.serverMayHaveActed).map { WallTime($0.startedAt) } }
}
