/// The settings of an engine that forwards the requests of other programs (RFC 9110 section 3.7).
///
/// Bodies pass as they came. The transport requests no content coding of its own and removes none, and coded bodies are stored
/// with their coding. A cacheable response is stored while it is passed on.
package struct Gateway: Sendable {
    /// Whether `Set-Cookie` is stored, and served with the stored response (RFC 9111 section 7.3).
    package var keepsCookies: Bool

    package init(keepsCookies: Bool = true) { self.keepsCookies = keepsCookies }
}
<<<<<<< HEAD:Sources/Diamond/Engine/Gateway.swift

extension Engine.Configuration {
    /// Makes the configuration that of a gateway: without headers, credentials, redirects and retries of its own.
    ///
    /// - Parameter width: the greatest number of exchanges at the same time.
    package mutating func makeGateway(_ gateway: Gateway = Gateway(), width: Int) {
        self.gateway = gateway
        identityPreset = .http
        identityPreset = .http
        self.width = width
        originWidth = width
        headers = [:]
        credentials = nil
        redirectLimit = 0
        retry = .never
    }
}
=======
>>>>>>> 34012106 (Answer slow and malformed clients of the proxy):Sources/Diamond/Pipeline/Context/Gateway.swift
