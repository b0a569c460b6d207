import HTTPTypes

/// The changes that cookies and interceptors make to a request, and their effect on its response.
extension ExchangeOptions {
    /// A request as it goes out.
    struct AdaptedRequest: Sendable {
        var request: TransportRequest
        /// Whether the request is now one of an unnamed user.
        var isPersonal = false
        /// ``ReceivedResponse/adaptedHeaders``.
        var adaptedHeaders: Set<String> = []
    }

    /// A request with the cookies for its URL, also where a redirect has led to another origin: they are that one's. A request
    /// with cookies of its own has no others.
    ///
    /// - Parameters:
    ///   - request: the order's, or one for the rest of its answer.
    ///   - wire: what the engine adds to all it sends.
    func withCookies(_ request: TransportRequest, of wire: Exchange.Wire) -> AdaptedRequest {
        guard let jar = wire.cookies, request.headers[.cookie] == nil,
            let cookies = jar.field(for: request.url, of: identity, at: wire.date)
        else { return AdaptedRequest(request: request) }
        var sent = request
        sent.headers.append(cookies)
        return AdaptedRequest(request: sent, isPersonal: identity == nil)
    }

    /// Returns the request as changed by the interceptors. A redirect to another origin takes no credential along, nor
    /// one that they add.
    ///
    /// - Parameters:
    ///   - wire: the engine's additions to all that it sends.
    ///   - attempt: 1 for the first.
    func adapted(
        _ outgoing: AdaptedRequest,
        by wire: Exchange.Wire,
        attempt: Int
    ) async throws(ConnectionError) -> AdaptedRequest {
        var request = try await wire.interceptors.adapt(outgoing.request, attempt: attempt)
        let added = AddedCredentials(request, from: outgoing.request, rules)
        if isForeign { added.takeBack(from: &request, to: outgoing.request, rules) }
        // What is asked for without them is no answer to those who ask with them.
        let isPersonal = added.hasLost || !added.isEmpty && (isForeign || identity == nil)
        let headers = adaptedHeaders(request.headers, from: outgoing.request.headers)
        var adapted = AdaptedRequest(request: request, isPersonal: outgoing.isPersonal)
        if isLed(request, awayFrom: outgoing.request) {
            request.headers[.cookie] = nil
            adapted = withCookies(request, of: wire)
        }
        adapted.isPersonal = adapted.isPersonal || isPersonal
        adapted.adaptedHeaders = headers
        return adapted
    }

    /// Whether it goes elsewhere than to where the jar was asked for its cookies.
    private func isLed(_ adapted: TransportRequest, awayFrom outgoing: TransportRequest) -> Bool {
        request.headers[.cookie] == nil && adapted.headers[.cookie].isExactly(outgoing.headers[.cookie])
            && adapted.url != outgoing.url && CookieOrigin(adapted.url) != CookieOrigin(outgoing.url)
    }

    /// Returns the changed headers' names in lower case, without the credentials that the identity stands for.
    private func adaptedHeaders(_ adapted: HTTPFields, from outgoing: HTTPFields) -> Set<String> {
        guard !adapted.isExactly(outgoing) else { return [] }
        let names = Set((adapted + outgoing).map(\.name)).filter {
            !adapted[values: $0].isExactly(outgoing[values: $0])
        }
        return Set(names.filter { identity == nil || !rules.isReplaced($0) }.map(\.canonicalName))
    }
}
