import HTTPTypes

/// The health of a server, by the outcome of an exchange.
enum ServerHealth: Hashable, Sendable {
    case good, bad
    /// Unknown: the fault lies with the request, the caller or the network.
    case unknown

    /// The statuses of temporary failures, without 425 (RFC 8470), which rejects the way in which the request was sent.
    private static let badStatuses = RetryPolicy.default.statuses.subtracting([425])
    private static let badErrors: Set<TransportError.Code> = [
        .badResponse, .cannotConnect, .connectionLost, .timedOut, .tlsFailed, .truncatedBody,
    ]

    init(_ outcome: RetrySituation.AttemptResult) {
        switch outcome {
        case .answered(let status, _): self = Self.badStatuses.contains(status.code) ? .bad : .good
        case .failed(let error, _): self = Self.badErrors.contains(error.code) ? .bad : .unknown
        }
    }
}
