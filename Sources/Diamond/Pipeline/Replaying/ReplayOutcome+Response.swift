import Foundation
import HTTPTypes

/// The meaning of a response or an error for another attempt, at another time.
extension ReplayOutcome {
    /// - Parameters:
    ///   - statuses: those that another attempt may change.
    ///   - now: milliseconds since 1970.
    ///   - isBehindRedirect: whether a server has redirected the request before, and may have acted.
    init(_ response: Response, statuses: Set<Int>, now: Int64, isBehindRedirect: Bool) {
        self.init(
            answered: response.status, response.headers, statuses: statuses, now: now,
            isBehindRedirect: isBehindRedirect)
    }

    private init(
        answered status: HTTPResponse.Status,
        _ headers: HTTPFields,
        statuses: Set<Int>,
        now: Int64,
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

    /// - Parameters:
    ///   - method: the method of the job's request.
    ///   - statuses: those that another attempt may change.
    ///   - now: milliseconds since 1970.
    ///   - isReachable: whether the network is there.
    ///   - isBehindRedirect: whether a server has redirected the request before, and may have acted.
    init(
        _ error: ConnectionError, method: HTTPRequest.Method, statuses: Set<Int>, now: Int64, isReachable: Bool,
        isBehindRedirect: Bool
    ) {
        if let response = error.response {
            self.init(response, statuses: statuses, now: now, isBehindRedirect: isBehindRedirect)
        } else if let head = error.head.value, head.status.decides(method) {
            self.init(
                answered: head.status, head.headers, statuses: statuses, now: now, isBehindRedirect: isBehindRedirect,
                bodyFailure: BodyFailure(code: error.code.description, message: error.message))
        } else {
            let fault = Self.fault(of: error, statuses, isReachable, isBehindRedirect)
            self = .failed(fault, code: error.code.description, message: error.message)
        }
    }

    private static func fault(
        of error: ConnectionError, _ statuses: Set<Int>, _ isReachable: Bool, _ isBehindRedirect: Bool
    ) -> Fault {
        switch error.code {
        case .cancelled: return .interrupted
        // What the engine was closed over may have left.
        case .noEngine:
            return (error.cause as? TransportError)?.requestMayHaveBeenSent == false ? .returned : .interrupted
        // What it leads to was not reached, but what was asked for may have been done: no status forbids a server to act and
        // redirect, and some act and answer 307. Nor was the network away, or the request at fault.
        case _ where isBehindRedirect: return .unknown
        case .badRequest, .badSettings: return .unsendable
        case .noCredential: return passingFault(ofProvider: error, statuses, isReachable) ?? .noCredential
        case .circuitOpen, .preparationFailed: return .unsent
        default: break
        }
        guard let cause = error.cause as? TransportError else { return .unknown }
        if !isReachable || cause.code == .cannotResolveHost {
            return cause.requestMayHaveBeenSent ? .unknown : .offline
        }
        return cause.requestMayHaveBeenSent ? .unknown : .unsent
    }

    /// Returns the fault for a credential that is unavailable for now: the server that the provider asked could not be
    /// reached, or may answer differently later. The user need not sign in for that.
    private static func passingFault(
        ofProvider error: ConnectionError, _ statuses: Set<Int>, _ isReachable: Bool
    ) -> Fault? {
        let failure = error.cause as? ConnectionError
        if let response = failure?.response { return statuses.contains(response.status.code) ? .unsent : nil }
        guard let cause = failure?.cause ?? error.cause else { return nil }
        return TransportError.Code(ofNetwork: cause).map { code in
            isReachable && code != .cannotResolveHost ? .unsent : .offline
        }
    }

    /// Whether a request that nobody has kept yet is worth to be: another attempt may have another outcome.
    var isWorthKeeping: Bool {
        switch self {
        case .answered(_, let isTransient, _, _, _): isTransient
        case .failed(let fault, _, _): [.unsent, .unknown, .offline].contains(fault)
        }
    }
}

extension TransportError.Code {
    /// That the network has failed; `nil` where something else has. The platform's own loading may tell it, too.
    fileprivate init?(ofNetwork error: any Error) {
        if let error = error as? TransportError, Self.ofNetwork.values.contains(error.code) {
            self = error.code
        } else if let number = (error as? URLError)?.code.rawValue, let code = Self.ofNetwork[number] {
            self = code
        } else {
            return nil
        }
    }

    /// By the codes of `URLError`.
    private static let ofNetwork: [Int: TransportError.Code] = [
        NSURLErrorTimedOut: .timedOut, NSURLErrorCannotFindHost: .cannotResolveHost,
        NSURLErrorDNSLookupFailed: .cannotResolveHost, NSURLErrorCannotConnectToHost: .cannotConnect,
        NSURLErrorNotConnectedToInternet: .cannotConnect, NSURLErrorNetworkConnectionLost: .connectionLost,
    ]
}

extension ReplayDraft.History {
    /// Creates the history of the attempts made before the request was kept.
    ///
    /// - Parameter queue: the queue whose clock gives the times.
    init(_ attempts: [Attempt], _ result: JobResult, in queue: ReplayQueue) {
        outcome = result.outcome
        unknownAt = result.unknownAt
        draw = queue.clock.draw()
        failures = attempts.map { Failure($0, in: queue) }
        // Of a single attempt nobody has noted when it began.
        if failures.isEmpty, let failure = result.outcome.failure {
            failures = [Failure(startedAt: queue.now(), code: failure.code, message: failure.message)]
        }
    }
}

extension ReplayDraft.History.Failure {
    fileprivate init(_ attempt: Attempt, in queue: ReplayQueue) {
        startedAt = queue.time(ofWall: attempt.startedAt.milliseconds)
        switch attempt.outcome {
        case .answered(let status): (code, message) = ("status \(status.code)", "the server answered \(status.code)")
        case .failed(let code, let message): (self.code, self.message) = (code, message)
        }
    }
}

extension [Attempt] {
    /// The beginning of the first attempt that may have been processed unnoticed, in milliseconds since 1970; `nil` if
    /// there is none.
    var unknownAt: Int64? { first(where: \.mayHaveArrived)?.startedAt.milliseconds }
}
