import HTTPTypes

/// What cookies and interceptors may make of a request, and what that makes of its answer.
extension ExchangeOrder {
    /// The request as it goes out. A redirect to another origin takes no credential along, also none of theirs.
    ///
    /// - Parameters:
    ///   - outgoing: the order's, or one for the rest of its answer.
    ///   - wire: what the engine adds to all it sends.
    ///   - attempt: 1 for the first.
    /// - Returns: with it, whether it is now one of somebody who is not named.
    func adapted(
        _ outgoing: TransportRequest,
        for wire: Exchange.Wire,
        attempt: Int
    ) async throws(ConnectionError) -> (TransportRequest, isPersonal: Bool) {
        let cookies = cookies(for: outgoing, on: wire)
        guard let cookies else { return try await adapted(outgoing, by: wire.interceptors, attempt) }
        var sent = outgoing
        sent.headers[.cookie] = cookies
        let (request, isPersonal) = try await adapted(sent, by: wire.interceptors, attempt)
        return (request, isPersonal || identity == nil)
    }

    /// Those for the URL, also where a redirect has led to another origin: they are that one's. A request with cookies of its
    /// own has no others.
    private func cookies(for request: TransportRequest, on wire: Exchange.Wire) -> String? {
        guard let jar = wire.cookies, request.headers[.cookie] == nil else { return nil }
        return jar.field(for: request.url, of: identity, at: wire.date)
    }

    private func adapted(
        _ outgoing: TransportRequest,
        by interceptors: [any Interceptor],
        _ attempt: Int
    ) async throws(ConnectionError) -> (TransportRequest, isPersonal: Bool) {
        guard !interceptors.isEmpty else { return (outgoing, false) }
        var request = try await interceptors.adapt(outgoing, attempt: attempt)
        let added = AddedCredentials(request, from: outgoing, rules)
        if isForeign { added.takeBack(from: &request, to: outgoing, rules) }
        // What is asked for without them is no answer to those who ask with them.
        return (request, !added.isEmpty && (isForeign || identity == nil))
    }
}
