import HTTPTypes

/// The reason for or against another attempt, by the outcome of the last one alone. Time, budget and counts are
/// considered later.
enum RetryCause: Equatable {
    /// The request was certainly not processed: any method may be sent again.
    case unprocessed(RetryReason)
    /// The request may have been processed and a repetition does no harm, or the server itself asks for a repetition.
    case repeatable(RetryReason)
    case unauthorized
    case none(RetryReason)

    init(_ situation: RetrySituation) {
        switch situation.result {
        case _ where situation.isCommitted: self = .none(.committed)
        case .failed(let error, let isAfterHead): self = Self.cause(of: error, isAfterHead: isAfterHead, in: situation)
        case .answered(let status, _): self = Self.cause(of: status.code, in: situation)
        }
    }

    // MARK: Failures

    private static let permanent: Set<TransportError.Code> = [
        .badRequestBody, .badResponse, .badSettings, .badURL, .bodyTooLarge, .cancelled, .certificateRejected, .closed,
        .destinationFailed,
    ]

    private static func cause(of error: TransportError, isAfterHead: Bool, in situation: RetrySituation) -> Self {
        guard !permanent.contains(error.code) else { return .none(.permanent(error)) }
        guard error.serverMayHaveActed || isAfterHead else { return .unprocessed(.unprocessed(error)) }
        guard situation.request.isRepeatable(by: situation.policy) else {
            return .none(.notIdempotent(situation.request.method))
        }
        let isClosedEarly = error.code == .connectionLost && !isAfterHead && !situation.history.hasLostConnection
        return .repeatable(isClosedEarly ? .connectionClosed : .interrupted(error))
    }

    // MARK: Statuses

    private static func cause(of status: Int, in situation: RetrySituation) -> Self {
        switch status {
        case 401: .unauthorized
        case 421 where !situation.history.wasMisdirected: .unprocessed(.misdirected)
        case 409 where situation.request.hasIdempotencyKey: .repeatable(.stillRunning)
        case 400, 421, 422: .none(.final(status))
        default: cause(ofListed: status, in: situation)
        }
    }

    private static func cause(ofListed status: Int, in situation: RetrySituation) -> Self {
        guard situation.policy.statuses.contains(status) else { return .none(.final(status)) }
        let isInvited = [429, 503].contains(status) && situation.pushBack != nil
        guard isInvited || situation.request.isRepeatable(by: situation.policy) else {
            return .none(.notIdempotent(situation.request.method))
        }
        return .repeatable(status == 429 ? .throttled : .status(status))
    }
}

extension RetrySituation {
    /// The time that the server asks to wait; `nil` if it names none.
    var pushBack: Duration? {
        guard case .answered(_, let headers) = result else { return nil }
        return RetryAfter.duration(headers, now: now)
    }
}
