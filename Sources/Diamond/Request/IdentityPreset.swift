/// The header fields of a request that identify its stored response, besides method, URL, parameters and body.
public enum IdentityPreset: String, Hashable, Sendable, CaseIterable, Codable {
    /// Every field that may select among responses is part of the key, except a short list such as `User-Agent`. This
    /// is for apps, which send the same fields with each request. Responses are found without reading their `Vary`.
    case selectingHeaders
    /// Method and target URI are the key, and the `Vary` of the stored responses selects among them (RFC 9111 section
    /// 4.1). This is for proxies, whose clients send different fields. In a private cache, credentials are part of the
    /// key, too, unless the request has an ``Request/identity``.
    ///
    /// The cache does all that HTTP allows. Under the policy `automatic`, it serves a stale response when the server
    /// cannot be reached (section 4.2.4). The response to a POST may answer a GET (RFC 9110 section 9.3.3).
    case http
}
