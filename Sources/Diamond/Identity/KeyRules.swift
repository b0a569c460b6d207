package import Crypto
import Foundation
import HTTPTypes

/// What of a request makes its identity, and what of it is secret.
package struct KeyRules: Sendable {
    /// The store's key for the digests that stand for credentials. Random by default: keys made with it mean
    /// something to this process only.
    package var secret: SymmetricKey
    /// The engine's and the request's own, beside what stands here.
    package var own: IdentityRules

    package init(secret: SymmetricKey = SymmetricKey(size: .bits256), own: IdentityRules = IdentityRules()) {
        self.secret = secret
        self.own = own
    }

    package func adding(_ rules: IdentityRules) -> KeyRules { KeyRules(secret: secret, own: own.union(rules)) }

    /// Headers that do not select among a resource's answers: about the message, the connection, the cache, the
    /// client's build, or tracing.
    static let nonSelectingHeaders: Set<String> = [
        "user-agent", "date", "content-length", "expect", "max-forwards",
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range",
        "cache-control", "pragma", "priority",
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authorization", "proxy-authenticate",
        "traceparent", "tracestate", "baggage", "b3", "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid",
        "x-b3-sampled", "x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ]

    /// Whether a header may tell answers apart.
    func isSelecting(_ header: String) -> Bool {
        !Self.nonSelectingHeaders.contains(header) && !own.isNonSelecting(header)
    }

    /// Whether a header's value is a credential: it goes to no other origin and into no key in clear.
    func isCredential(_ name: HTTPField.Name) -> Bool {
        SecretNames.holdsHeader(name.rawName) || own.isSecret(name.canonicalName)
    }

    /// Whether an identity takes the place of a header: where it is a credential for certain, not by its name alone.
    func isReplaced(_ name: HTTPField.Name) -> Bool {
        name == .authorization || name == .cookie || own.isSecret(name.canonicalName)
    }

    /// Whether a name of a member says that its value is a credential.
    func isSecret(_ name: String) -> Bool { SecretNames.holdsMember(name) || own.isSecret(name) }

    /// Whether the name of an item of a query or form is, or holds in brackets, a secret one: `user[password]`.
    func isSecret(parameter name: [UInt8]) -> Bool {
        let isKnown = PercentEncoding.decode(name).withUnsafeBufferPointer(SecretNames.holdsParameter)
        return isKnown || isReplaced(parameter: name)
    }

    /// Whether an identity takes the place of a parameter: where it was named as a secret.
    func isReplaced(parameter name: [UInt8]) -> Bool {
        !own.secrets.isEmpty && Self.words(name).contains(where: own.isSecret)
    }

    func isIgnored(parameter name: [UInt8]) -> Bool {
        !own.ignoring.isEmpty && own.isIgnored(Self.decoded(name))
    }

    private static func decoded(_ name: [UInt8]) -> String {
        String(decoding: PercentEncoding.decode(name), as: UTF8.self)
    }

    private static func words(_ name: [UInt8]) -> [Substring] {
        decoded(name).split { $0 == "[" || $0 == "]" }
    }

    /// A keyed digest that stands for a credential: equal for equal credentials in one store, and of no use outside.
    func digest(of value: some Sequence<UInt8>) -> String {
        Hex.text(of: HMAC<SHA256>.authenticationCode(for: Array(value), using: secret))
    }
}
