/// The reason why a response is not stored (RFC 9111 section 3).
package enum StoreRefusal: Hashable, Sendable {
    /// The engine has no cache.
    case noCache
    /// The request, its policy or its unknown user keeps the response from the cache.
    case request
    /// Responses to the method are not stored.
    case method
    /// The status is never stored, or only with an explicit lifetime.
    case status
    /// The body is coded, and bodies are stored decoded.
    case coding
    /// `must-understand`, with a status that this cache does not understand (section 5.2.2.3).
    case mustUnderstand
    /// `no-store` (section 5.2.2.5).
    case noStore
    /// `private`, in a shared cache (section 5.2.2.7).
    case isPrivate
    /// `Authorization` in the request, in a shared cache, without a directive that allows it (section 3.5).
    case authorization
    /// Another credential in the request, in a shared cache, without the server's word that others may have the
    /// response.
    case credentials
    /// `Vary` is `*`, or names a field whose sent value is unknown (section 4.1).
    case vary
    /// `Set-Cookie` without an explicit lifetime, in a shared cache (section 7.3).
    case setCookie
    /// A field that gives the response its meaning has a secret, which is not written.
    case secret
    /// The body is larger than the limit for one entry.
    case tooLarge
    /// A server error, which does not replace a successful response (section 4.3.3).
    case serverError
}
