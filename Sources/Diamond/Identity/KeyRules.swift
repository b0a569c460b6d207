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

    /// Words in the names of headers, parameters and members of JSON bodies whose values are credentials. Rather one too
    /// many: such a value still separates requests, only as a keyed digest, and does not go to another origin.
    private static let secretWords = [
        "apikey", "api_key", "api-key", "cookie", "credential", "jwt", "passw", "secret", "session", "signature",
        "token",
    ]

    /// The same for headers, whose names hold no ordinary words of an API.
    private static let secretHeaderWords = secretWords + ["auth", "key"]

    /// Whole names of parameters and members, in lower case.
    private static let secretNames: Set<String> = ["auth", "authorization", "key", "pass", "pwd", "sig", "sid"]

    /// Headers that do not select among a resource's answers: about the message, the connection, the cache, the
    /// client's build, or tracing.
    private static let nonSelectingHeaders: Set<String> = [
        "user-agent", "date", "content-length", "expect", "max-forwards",
        "range", "cache-control", "pragma", "priority",
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "traceparent", "tracestate", "baggage", "b3",
        "x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ]

    /// How the names of others begin.
    private static let nonSelectingFamilies = ["if-", "proxy-", "x-b3-"]

    /// Whether a header may tell answers apart where no rules say otherwise.
    static func isSelecting(_ header: String) -> Bool {
        !nonSelectingHeaders.contains(header) && !nonSelectingFamilies.contains { header.hasPrefix($0) }
    }

    /// Whether a header may tell answers apart.
    func isSelecting(_ header: String) -> Bool { Self.isSelecting(header) && !own.isNonSelecting(header) }

    /// Whether a header's value is a credential: it goes to no other origin and into no key in clear.
    func isCredential(_ name: HTTPField.Name) -> Bool {
        Self.secretHeaderWords.contains { name.canonicalName.contains($0) } || own.isSecret(name.canonicalName)
    }

    /// Whether an identity takes the place of a header: where it is a credential for certain, not by its name alone.
    func isReplaced(_ name: HTTPField.Name) -> Bool {
        name == .authorization || name == .cookie || own.isSecret(name.canonicalName)
    }

    /// Whether a name of a member or a parameter, as it is before encoding, says that the value is a credential.
    func isSecret(_ name: some StringProtocol) -> Bool {
        let lower = name.lowercased()
        return Self.secretNames.contains(lower) || Self.secretWords.contains { lower.contains($0) }
            || own.isSecret(name)
    }

    /// Whether the name of an item of a query or form is, or holds in brackets, a secret one: `user[password]`.
    func isSecret(parameter name: [UInt8]) -> Bool {
        Self.words(name).contains(where: isSecret) || isReplaced(parameter: name)
    }

    /// Whether an identity takes the place of a parameter: where it was named as a secret.
    func isReplaced(parameter name: [UInt8]) -> Bool {
        guard !own.secrets.isEmpty else { return false }
        return own.isSecret(Self.decoded(name)) || Self.words(name).contains(where: own.isSecret)
    }

    func isIgnored(parameter name: [UInt8]) -> Bool {
        !own.ignoring.isEmpty && own.isIgnored(Self.decoded(name))
    }

    private static func decoded(_ name: [UInt8]) -> String {
        let text = String(decoding: name, as: UTF8.self)
        return text.removingPercentEncoding ?? text
    }

    private static func words(_ name: [UInt8]) -> [Substring] {
        decoded(name).split { $0 == "[" || $0 == "]" }
    }

    /// A keyed digest that stands for a credential: equal for equal credentials in one store, and of no use outside.
    func digest(of value: some Sequence<UInt8>) -> String {
        Hex.text(of: HMAC<SHA256>.authenticationCode(for: Array(value), using: secret))
    }
}
