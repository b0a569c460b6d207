/// The settings of an engine that forwards the requests of other programs (RFC 9110 section 3.7).
///
/// Bodies pass as they came. The transport requests no content coding of its own and removes none, and coded bodies are
/// stored with their coding. A cacheable response is stored while it is passed on.
package struct Gateway: Sendable {
    /// Whether `Set-Cookie` is stored, and served with the stored response (RFC 9111 section 7.3).
    package var keepsCookies: Bool

    package init(keepsCookies: Bool = true) { self.keepsCookies = keepsCookies }
}
