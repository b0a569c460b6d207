import HTTPTypes

/// What an exchange says of its server.
enum ServerHealth: Hashable, Sendable {
    case good, bad
    /// Nothing: the fault lies with the request, the caller or the network.
    case unknown

    private static let badStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
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
