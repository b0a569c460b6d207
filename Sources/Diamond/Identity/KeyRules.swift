package import Crypto
import Foundation
package import HTTPTypes

/// The rules for the parts of a request that make its identity, and for those that are secret.
package struct KeyRules: Sendable {
    /// The store's key for the digests that stand for credentials. Random by default: keys made with it mean
    /// something to this process only.
    package var secret: SymmetricKey
    /// The engine's and the request's own, beside what stands here.
    package var own: IdentityRules
    /// Headers that secrets were filled into, in lower case: credentials whatever their names.
    private var filledHeaders: Set<String> = []
    private let names = CredentialNames.all

    package init(secret: SymmetricKey = SymmetricKey(size: .bits256), own: IdentityRules = IdentityRules()) {
        self.secret = secret
        self.own = own
    }

    package func adding(_ rules: IdentityRules) -> KeyRules {
        var all = self
        if !rules.isEmpty { all.own = own.union(rules) }
        return all
    }

    /// With what a request says itself.
    package func adding(_ request: WireRequest) -> KeyRules {
        var rules = adding(request.rules)
        rules.filledHeaders = request.filledHeaders
        return rules
    }

    /// Whether a header may tell answers apart where no rules say otherwise.
    static func isSelecting(_ header: String) -> Bool {
        header.withBytes { CredentialNames.all.isSelecting(header: $0) }
    }

    /// Whether a header may tell answers apart.
    ///
    /// - Parameter header: in lower case.
    package func isSelecting(_ header: String) -> Bool {
        header.withBytes { names.isSelecting(header: $0) } && (own.nonSelecting.isEmpty || !own.isNonSelecting(header))
    }

    /// Whether a header's value is a credential: it goes to no other origin and into no key in clear.
    package func isCredential(_ name: HTTPField.Name) -> Bool { isCredential(name.canonicalName) }

    /// - Parameter header: in lower case.
    func isCredential(_ header: String) -> Bool {
        header.withBytes { names.isSecret(header: $0) } || isListed(header)
    }

    /// Whether a header is one of those that almost every request has: no word has to be looked for in them to know
    /// that they select, and are no credentials.
    @inline(__always)
    func isOrdinary(_ header: String) -> Bool {
        (header == "accept" || header == "accept-language" || header == "content-type")
            && own.nonSelecting.isEmpty && own.secrets.isEmpty && filledHeaders.isEmpty
    }

    /// Whether an identity takes the place of a header: where it is a credential for certain, not by its name alone.
    package func isReplaced(_ name: HTTPField.Name) -> Bool { isReplaced(name.canonicalName) }

    /// - Parameter header: in lower case.
    func isReplaced(_ header: String) -> Bool { header == "authorization" || header == "cookie" || isListed(header) }

    private func isListed(_ header: String) -> Bool {
        own.isSecret(header) || !filledHeaders.isEmpty && filledHeaders.contains(header)
    }

    /// Whether a name of a member says that its value is a credential.
    func isSecret(_ name: String) -> Bool { name.withBytes { names.isSecret(member: $0) } || own.isSecret(name) }

    /// Whether the name of an item of a query or form is, or holds in brackets, a secret one: `user[password]`.
    package func isSecret(parameter name: Span<UInt8>) -> Bool { isSecret(parameter: name, letters: LetterSet(of: name)) }

    /// - Parameter letters: those of the name.
    @inline(__always)
    func isSecret(parameter name: Span<UInt8>, letters: LetterSet) -> Bool {
        names.isSecret(parameter: name, letters: letters) || isReplaced(parameter: name)
    }

    /// Whether an identity takes the place of a parameter: where it was named as a secret.
    package func isReplaced(parameter name: Span<UInt8>) -> Bool { !own.secrets.isEmpty && isListed(parameter: name) }

    package func isIgnored(parameter name: Span<UInt8>) -> Bool { !own.ignoring.isEmpty && isListedAsIgnored(name) }

    // What is rare stands apart, out of the way of what is done for every name.

    @inline(never)
    private func isListed(parameter name: Span<UInt8>) -> Bool {
        let name = Self.decoded(name)
        return own.isSecret(name) || name.split { $0 == "[" || $0 == "]" }.contains(where: own.isSecret)
    }

    @inline(never)
    private func isListedAsIgnored(_ name: Span<UInt8>) -> Bool { own.isIgnored(Self.decoded(name)) }

    private static func decoded(_ name: Span<UInt8>) -> String {
        String(decoding: PercentEncoding.decode(name.array(name.indices)), as: UTF8.self)
    }

    /// A keyed digest that stands for a credential: equal for equal credentials in one store, and of no use outside.
    func digest(of value: some Sequence<UInt8>) -> String {
        Hex.text(of: HMAC<SHA256>.authenticationCode(for: Array(value), using: secret))
    }
}
