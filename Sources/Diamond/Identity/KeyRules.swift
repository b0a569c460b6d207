package import Crypto
import Foundation
package import HTTPTypes

/// The rules that decide which parts of a request make its key, and which are secret.
package struct KeyRules: Sendable {
    /// The store's key for the digests of credentials. It is random by default, so that request keys are valid in this
    /// process only.
    package var secret: SymmetricKey
    /// The rules of the engine and the request, in addition to the built-in ones.
    package var own: IdentityRules
    package var preset = IdentityPreset.selectingHeaders
    /// Whether credentials are part of keys under the preset `http`. They are not in a shared cache, which stores only
    /// responses for all users (RFC 9111 section 3.5).
    package var separatesUsers = true
    /// The headers with filled-in secrets, in lower case. They are credentials whatever their names.
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

    /// Returns the rules with the request's own added.
    package func adding(_ request: WireRequest) -> KeyRules {
        var rules = adding(request.rules)
        rules.filledHeaders = request.filledHeaders
        return rules
    }

    /// Whether a header may select among responses by the built-in rules.
    static func isSelecting(_ header: String) -> Bool {
        header.withBytes { CredentialNames.all.isSelecting(header: $0) }
    }

    /// Whether a header may select among responses.
    ///
    /// - Parameter header: the name in lower case.
    package func isSelecting(_ header: String) -> Bool {
        header.withBytes { names.isSelecting(header: $0) } && (own.nonSelecting.isEmpty || !own.isNonSelecting(header))
            && (preset == .selectingHeaders || separatesUsers && isCredential(header))
    }

    /// Whether a header's value is a credential, which is not sent to another origin and not part of a key in plain
    /// text.
    package func isCredential(_ name: HTTPField.Name) -> Bool { isCredential(name.canonicalName) }

    /// - Parameter header: the name in lower case.
    func isCredential(_ header: String) -> Bool {
        header.withBytes { names.isSecret(header: $0) } || isListed(header)
    }

    /// Whether a header is one of the common ones that select and are no credentials. They skip the search for words.
    @inline(__always)
    func isOrdinary(_ header: String) -> Bool {
        (header == "accept" || header == "accept-language" || header == "content-type")
            && preset == .selectingHeaders && own.nonSelecting.isEmpty && own.secrets.isEmpty && filledHeaders.isEmpty
    }

    /// Whether the identity stands for a header in the key. This holds for `Authorization`, `Cookie`, listed secrets
    /// and filled-in secrets, but not for headers that are credentials only by their names.
    package func isReplaced(_ name: HTTPField.Name) -> Bool { isReplaced(name.canonicalName) }

    /// - Parameter header: the name in lower case.
    func isReplaced(_ header: String) -> Bool { header == "authorization" || header == "cookie" || isListed(header) }

    private func isListed(_ header: String) -> Bool {
        own.isSecret(header) || !filledHeaders.isEmpty && filledHeaders.contains(header)
    }

    /// Whether a JSON member is a credential by its name.
    func isSecret(_ name: String) -> Bool { name.withBytes { names.isSecret(member: $0) } || own.isSecret(name) }

    /// Whether a parameter is secret by its name, or by a name in brackets within it: `user[password]`.
    package func isSecret(parameter name: Span<UInt8>) -> Bool {
        isSecret(parameter: name, letters: LetterSet(of: name))
    }

    /// - Parameter letters: the letters of the name.
    @inline(__always)
    func isSecret(parameter name: Span<UInt8>, letters: LetterSet) -> Bool {
        names.isSecret(parameter: name, letters: letters) || isReplaced(parameter: name)
    }

    /// Whether the identity stands for a parameter in the key, because the parameter is listed as a secret.
    package func isReplaced(parameter name: Span<UInt8>) -> Bool { !own.secrets.isEmpty && isListed(parameter: name) }

    package func isIgnored(parameter name: Span<UInt8>) -> Bool { !own.ignoring.isEmpty && isListedAsIgnored(name) }

    // Not inlined: these are rare, and the callers run for every name.

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

    /// Returns a keyed digest of a credential. It is equal for equal credentials in one store, and useless elsewhere.
    func digest(of value: some Sequence<UInt8>) -> String {
        Hex.text(of: HMAC<SHA256>.authenticationCode(for: Array(value), using: secret))
    }
}
