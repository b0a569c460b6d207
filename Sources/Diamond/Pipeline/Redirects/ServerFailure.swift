import HTTPTypes

/// The failures after which `stale-if-error` permits a stored response: the statuses 500, 502, 503 and 504, and all
/// failures that would make a gateway answer with one of them (RFC 5861 section 4).
enum ServerFailure {
    private static let statuses: Set<Int> = [500, 502, 503, 504]
    private static let codes: Set<ConnectionError.Code> = [
        .badResponse, .cannotConnect, .circuitOpen, .connectionLost, .timedOut, .tlsFailed,
    ]

    /// The failures to reach the server.
    private static let disconnections: Set<ConnectionError.Code> = [
        .cannotConnect, .circuitOpen, .connectionLost, .timedOut,
    ]

    static func isDisconnection(_ result: Result<Response, ConnectionError>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return disconnections.contains(error.code)
    }

    static func isOne(_ status: HTTPResponse.Status) -> Bool { statuses.contains(status.code) }

    static func isOne(_ result: Result<Response, ConnectionError>) -> Bool {
        switch result {
        case .success(let response): isOne(response.status)
        case .failure(let error): codes.contains(error.code)
        }
    }
}

extension CachePolicy.Mode {
    /// Whether a stored response may be served in place of a failure.
    var mayFallBack: Bool { self == .networkElseCache || self == .automatic }

    /// Whether a stored response may be served in place of a result. Most results are no failure under any policy but
    /// `networkElseCache`, whose callers may refuse a response.
    func mayReplace(_ result: Result<Response, ConnectionError>) -> Bool {
        guard mayFallBack, self != .networkElseCache, case .success(let response) = result else { return mayFallBack }
        return ServerFailure.isOne(response.status)
    }
}
