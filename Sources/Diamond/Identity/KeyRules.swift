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
    /// Headers that secrets were filled into, in lower case: credentials whatever their names.
    private var filledHeaders: Set<String> = []

    package init(secret: SymmetricKey = SymmetricKey(size: .bits256), own: IdentityRules = IdentityRules()) {
        self.secret = secret
        self.own = own
    }

    package func adding(_ rules: IdentityRules) -> KeyRules { KeyRules(secret: secret, own: own.union(rules)) }

    /// With what a request says itself.
    func adding(_ request: borrowing WireRequest) -> KeyRules {
        var rules = adding(request.rules)
        rules.filledHeaders = request.filledHeaders
        return rules
    }

    /// Headers that do not select among a resource's answers: about the message, the connection, the cache, the
    /// client's build, or tracing.
    private static let nonSelectingHeaders = WordSet([
        "user-agent", "date", "content-length", "expect", "max-forwards",
        "range", "cache-control", "pragma", "priority",
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "traceparent", "tracestate", "baggage", "b3",
        "x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ])

    /// How the names of others begin.
    private static let nonSelectingFamilies = WordSet(["if-", "proxy-", "x-b3-"])

    /// Whether a header may tell answers apart where no rules say otherwise.
    static func isSelecting(_ header: String) -> Bool {
        header.withBytes { !nonSelectingHeaders.hasWhole($0) && !nonSelectingFamilies.hasBeginning(of: $0) }
    }

    /// Whether a header may tell answers apart.
    func isSelecting(_ header: String) -> Bool { Self.isSelecting(header) && !own.isNonSelecting(header) }

    /// Whether a header's value is a credential: it goes to no other origin and into no key in clear.
    func isCredential(_ name: HTTPField.Name) -> Bool {
        SecretNames.holdsHeader(name.rawName) || isListed(name)
    }

    /// Whether an identity takes the place of a header: where it is a credential for certain, not by its name alone.
    func isReplaced(_ name: HTTPField.Name) -> Bool {
        name == .authorization || name == .cookie || isListed(name)
    }

    private func isListed(_ name: HTTPField.Name) -> Bool {
        own.isSecret(name.canonicalName)
            || !filledHeaders.isEmpty && filledHeaders.contains(name.canonicalName)
    }

    /// Whether a name of a member says that its value is a credential.
    func isSecret(_ name: String) -> Bool { SecretNames.holdsMember(name) || own.isSecret(name) }

    /// Whether the name of an item of a query or form is, or holds in brackets, a secret one: `user[password]`.
    func isSecret(parameter name: Span<UInt8>) -> Bool {
        SecretNames.holdsParameter(name) || isReplaced(parameter: name)
    }

    /// Whether an identity takes the place of a parameter: where it was named as a secret.
    func isReplaced(parameter name: Span<UInt8>) -> Bool {
        guard !own.secrets.isEmpty else { return false }
        let name = Self.decoded(name)
        return own.isSecret(name) || name.split { $0 == "[" || $0 == "]" }.contains(where: own.isSecret)
    }

    func isIgnored(parameter name: Span<UInt8>) -> Bool {
        !own.ignoring.isEmpty && own.isIgnored(Self.decoded(name))
    }

    private static func decoded(_ name: Span<UInt8>) -> String {
        String(decoding: PercentEncoding.decode(name.array(name.indices)), as: UTF8.self)
    }

    /// A keyed digest that stands for a credential: equal for equal credentials in one store, and of no use outside.
    func digest(of value: some Sequence<UInt8>) -> String {
        Hex.text(of: HMAC<SHA256>.authenticationCode(for: Array(value), using: secret))
    }
}
