package import Crypto
import Foundation
import HTTPTypes

/// What of a request makes its identity, and what of it is secret.
package struct KeyRules: Sendable {
    /// The store's key for the digests that stand for credentials. Random by default: keys made with it mean
    /// something to this process only.
    package var secret: SymmetricKey

    package init(secret: SymmetricKey = SymmetricKey(size: .bits256)) { self.secret = secret }

    /// Headers whose values are credentials: only a keyed digest of them enters the canonical form.
    static let secretHeaders: Set<String> = [
        "authorization", "cookie", "x-api-key", "api-key", "x-auth-token", "x-access-token", "x-csrf-token",
        "x-amz-security-token",
    ]

    /// Parameters whose values are credentials, compared without case.
    static let secretParameters: Set<String> = [
        "access_token", "refresh_token", "id_token", "token", "auth_token", "api_key", "apikey", "api-key", "key",
        "secret", "client_secret", "password", "passwd", "signature", "sig", "x-amz-signature", "x-amz-security-token",
    ]

    /// Headers that do not select among a resource's answers: about the message, the connection, the cache, the
    /// client's build, or tracing.
    static let nonSelectingHeaders: Set<String> = [
        "user-agent", "accept-encoding", "date", "host", "content-length", "expect", "max-forwards",
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range",
        "cache-control", "pragma", "priority",
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authorization", "proxy-authenticate",
        "traceparent", "tracestate", "baggage", "b3", "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid",
        "x-b3-sampled", "x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ]

    /// Whether a header's value is a credential: it goes to no other origin and into no key in clear.
    static func isCredential(_ name: HTTPField.Name) -> Bool {
        secretHeaders.contains(name.canonicalName) || name == .proxyAuthorization
    }

    func isSecret(parameter name: [UInt8]) -> Bool {
        Self.secretParameters.contains(String(decoding: name, as: UTF8.self).lowercased())
    }

    /// A keyed digest that stands for a credential: equal for equal credentials in one store, and of no use outside.
    func digest(of value: some Sequence<UInt8>) -> String {
        Hex.text(of: HMAC<SHA256>.authenticationCode(for: Array(value), using: secret))
    }
}
