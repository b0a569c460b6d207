import HTTPTypes

/// What an exchange says of its server.
enum ServerHealth: Hashable, Sendable {
    case good, bad
    /// Nothing: the fault lies with the request, the caller or the network.
    case unknown

    /// Those that may pass, but for 425 (RFC 8470): it is the way that the request was sent that the server minds.
    private static let badStatuses = RetryPolicy.defaultStatuses.subtracting([425])
    private static let badErrors: Set<TransportError.Code> = [
        .badResponse, .cannotConnect, .connectionLost, .timedOut, .tlsFailed, .truncatedBody,
    ]

    init(_ outcome: RetrySituation.Outcome) {
        switch outcome {
        case .answered(let status, _): self = Self.badStatuses.contains(status.code) ? .bad : .good
        case .failed(let error, _): self = Self.badErrors.contains(error.code) ? .bad : .unknown
        }
    }
}
