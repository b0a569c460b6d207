import HTTPTypes

/// The changes that cookies and interceptors make to a request, and their effect on its response.
extension RetryLoop {
    /// Returns a request with the jar's cookies for its URL, also after a redirect to another origin. A request with a
    /// `Cookie` header of its own gets no others.
    ///
    /// - Parameter request: the request of the plan, or one for the rest of a response.
    func withCookies(_ request: TransportRequest) -> TransportRequest {
        guard let jar = environment.cookies else { return request }
        var adapted = request
        // Read before the cookies: if they are removed from now on, as at a logout, the response must not set them
        // again.
        adapted.adaptation.removals = jar.removals
        guard request.headers[.cookie] == nil,
            let cookies = jar.field(for: request.url, of: exchange.identity, at: environment.date)
        else { return adapted }
        adapted.headers.append(cookies)
        adapted.adaptation.isPersonal = exchange.identity == nil
        return adapted
    }

    /// Returns the request as changed by the interceptors. A redirect to another origin is sent without credentials,
    /// including those that interceptors add.
    ///
    /// - Parameter number: the number of the attempt, 1 for the first.
    func adapted(_ outgoing: TransportRequest, number: Int) async throws(ConnectionError) -> TransportRequest {
        let rules = exchange.rules
        var request = try await environment.interceptors.adapt(outgoing, attempt: number)
        let added = AddedCredentials(request, from: outgoing, rules: rules)
        // A redirect has led to another origin than the caller's.
        let isForeign = exchange.context.traits.contains(.foreign)
        if isForeign { added.remove(from: &request, restoring: outgoing, rules: rules) }
        // The response to a request whose credentials were removed is not for callers that send them.
        let isPersonal = added.hasRemoved || !added.isEmpty && (isForeign || exchange.identity == nil)
        let headers = adaptedHeaders(request.headers, from: outgoing.headers, rules: rules)
        // An interceptor may have made another request.
        request.adaptation = outgoing.adaptation
        if isRedirected(request, from: outgoing) {
            request.headers[.cookie] = nil
            request.adaptation.isPersonal = false
            request = withCookies(request)
        }
        request.adaptation.removals = outgoing.adaptation.removals
        request.adaptation.isPersonal = request.adaptation.isPersonal || isPersonal
        request.adaptation.headers = headers
        return request
    }

    /// Whether an interceptor has changed the URL to one that other cookies of the jar are for.
    private func isRedirected(_ adapted: TransportRequest, from outgoing: TransportRequest) -> Bool {
        request.headers[.cookie] == nil && adapted.headers[.cookie].isExactly(outgoing.headers[.cookie])
            && adapted.url != outgoing.url && CookieOrigin(adapted.url) != CookieOrigin(outgoing.url)
    }

    /// Returns the changed headers' names in lower case, without the credentials that the identity stands for.
    private func adaptedHeaders(_ adapted: HTTPFields, from outgoing: HTTPFields, rules: KeyRules) -> Set<String> {
        guard !adapted.isExactly(outgoing) else { return [] }
        let names = Set((adapted + outgoing).map(\.name)).filter {
            !adapted[values: $0].isExactly(outgoing[values: $0])
        }
        // The identity stands for credentials, but not for the other contents of cookies.
        let unkeyed = names.filter { exchange.identity == nil || $0 == .cookie || !rules.isReplaced($0) }
        return Set(unkeyed.map(\.canonicalName))
    }
}
