import HTTPTypes

/// The changes that cookies and interceptors make to a request, and their effect on its response.
extension ExchangeOptions {
    /// A request with cookies, and as interceptors have changed it.
    struct AdaptedRequest: Sendable {
        var request: TransportRequest
        /// Whether the request has credentials of an unknown user now.
        var isPersonal = false
        /// ``ReceivedResponse/adaptedHeaders``.
        var adaptedHeaders: Set<String> = []
    }

    /// Returns a request with the jar's cookies for its URL, also after a redirect to another origin. A request with a
    /// `Cookie` header of its own gets no others.
    ///
    /// - Parameters:
    ///   - request: the request of the options, or one for the rest of a response.
    ///   - environment: the environment with the jar.
    func withCookies(_ request: TransportRequest, in environment: ExchangeEnvironment) -> AdaptedRequest {
        guard let jar = environment.cookies, request.headers[.cookie] == nil,
            let cookies = jar.field(for: request.url, of: identity, at: environment.date)
        else { return AdaptedRequest(request: request) }
        var sent = request
        sent.headers.append(cookies)
        return AdaptedRequest(request: sent, isPersonal: identity == nil)
    }

    /// Returns the request as changed by the interceptors. A redirect to another origin is sent without credentials,
    /// including those that interceptors add.
    ///
    /// - Parameters:
    ///   - environment: the environment with the interceptors and the jar.
    ///   - attempt: the number of the attempt, 1 for the first.
    func adapted(
        _ outgoing: AdaptedRequest,
        in environment: ExchangeEnvironment,
        attempt: Int
    ) async throws(ConnectionError) -> AdaptedRequest {
        var request = try await environment.interceptors.adapt(outgoing.request, attempt: attempt)
        let added = AddedCredentials(request, from: outgoing.request, rules: rules)
        if isForeign { added.remove(from: &request, restoring: outgoing.request, rules: rules) }
        // The response to a request whose credentials were removed is not for callers that send them.
        let isPersonal = added.hasRemoved || !added.isEmpty && (isForeign || identity == nil)
        let headers = adaptedHeaders(request.headers, from: outgoing.request.headers)
        var adapted = AdaptedRequest(request: request, isPersonal: outgoing.isPersonal)
        if isRedirected(request, from: outgoing.request) {
            request.headers[.cookie] = nil
            adapted = withCookies(request, in: environment)
        }
        adapted.isPersonal = adapted.isPersonal || isPersonal
        adapted.adaptedHeaders = headers
        return adapted
    }

    /// Whether an interceptor has changed the URL to one that other cookies of the jar are for.
    private func isRedirected(_ adapted: TransportRequest, from outgoing: TransportRequest) -> Bool {
        request.headers[.cookie] == nil && adapted.headers[.cookie].isExactly(outgoing.headers[.cookie])
            && adapted.url != outgoing.url && CookieOrigin(adapted.url) != CookieOrigin(outgoing.url)
    }

    /// Returns the changed headers' names in lower case, without the credentials that the identity stands for.
    private func adaptedHeaders(_ adapted: HTTPFields, from outgoing: HTTPFields) -> Set<String> {
        guard !adapted.isExactly(outgoing) else { return [] }
        let names = Set((adapted + outgoing).map(\.name)).filter {
            !adapted[values: $0].isExactly(outgoing[values: $0])
        }
        // The identity stands for credentials, but not for the other contents of cookies.
        let unkeyed = names.filter { identity == nil || $0 == .cookie || !rules.isReplaced($0) }
        return Set(unkeyed.map(\.canonicalName))
    }
}
