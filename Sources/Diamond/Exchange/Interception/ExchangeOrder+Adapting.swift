import HTTPTypes

/// What interceptors may make of a request, and what that makes of its answer.
extension ExchangeOrder {
    /// The request as it goes out. A redirect to another origin takes no credential along, also none of theirs.
    ///
    /// - Parameters:
    ///   - outgoing: the order's, or one for the rest of its answer.
    ///   - attempt: 1 for the first.
    /// - Returns: with it, whether it is now one of somebody who is not named.
    func adapted(
        _ outgoing: TransportRequest,
        by interceptors: [any Interceptor],
        attempt: Int
    ) async throws(ConnectionError) -> (TransportRequest, isPersonal: Bool) {
        guard !interceptors.isEmpty else { return (outgoing, false) }
        var request = try await interceptors.adapt(outgoing, attempt: attempt)
        let added = Set(request.headers.map(\.name)).filter { name in
            SecretNames.contains(header: name.rawName) && request.headers[name] != outgoing.headers[name]
        }
        guard isForeign else { return (request, !added.isEmpty && !hasIdentity) }
        for name in added { request.headers[name] = outgoing.headers[name] }
        return (request, false)
    }
}
