import HTTPTypes

/// A finder of secrets in the fields of a response, for code that stores or shows them.
///
/// A field is secret if its name is a credential's, or if it contains a URL with user info or a secret item.
struct FieldSecrets: Sendable {
    private let own: IdentityRules
    private let names = CredentialNames.all

    /// Creates a finder.
    ///
    /// - Parameter own: names of secrets, in addition to the built-in ones.
    init(own: IdentityRules = IdentityRules()) { self.own = own }

    /// Fields that lead to another URL. A response without them would have another meaning.
    private static let leading = ASCIIWordMatcher(["link", "location", "refresh"])
    /// Fields that redirect the client, whose `code` and `state` parameters are credentials. In `Link`, `state` is more
    /// often a filter.
    private static let targets = ASCIIWordMatcher(["location", "refresh"])
    /// Fields whose whole value is a URL.
    private static let urls = ASCIIWordMatcher(["content-location", "location"])
    /// Fields that request a credential. They contain none, despite their names.
    private static let challenges = ASCIIWordMatcher(["www-authenticate", "proxy-authenticate"])
    /// Schemes whose challenges hold a token (RFC 4559).
    private static let tokenSchemes = ["kerberos ", "negotiate ", "ntlm "]

    /// Whether a response would have another meaning without a field of this name.
    static func isLeading(_ name: HTTPField.Name) -> Bool { name.canonicalName.withBytes { leading.hasWhole($0) } }

    /// Whether a field must not be stored in plain text.
    func holdsSecret(_ field: HTTPField) -> Bool {
        let name = field.name.canonicalName
        return isCredential(name) || hasSecretURL(field, named: name)
            || Self.isChallenge(name) && Self.hasToken(field.value)
    }

    private func isCredential(_ name: String) -> Bool {
        name.withBytes { names.isSecret(header: $0) && !Self.challenges.hasWhole($0) } || own.isSecret(name)
    }

    private static func isChallenge(_ name: String) -> Bool { name.withBytes { challenges.hasWhole($0) } }

    private static func hasToken(_ challenges: String) -> Bool {
        let challenges = challenges.lowercased()
        return tokenSchemes.contains { challenges.contains($0) }
    }

    private func hasSecretURL(_ field: HTTPField, named name: String) -> Bool {
        field.withUnsafeBytesOfValue { bytes in
            bytes.contains(where: URLSecrets.isMark) && !secrets(in: Array(bytes), of: name).isEmpty
        }
    }

    private func secrets(in bytes: [UInt8], of name: String) -> [URLSecrets.SecretRange] {
        name.withBytes { URLSecrets(own: own, isTarget: Self.targets.hasWhole($0), isURL: Self.urls.hasWhole($0)) }
            .secretRanges(in: bytes)
    }

    // MARK: Masking

    static let mask = "•••"

    /// Returns the value for display. A secret value is masked, and so are user info and secret items of URLs.
    func masked(_ field: HTTPField) -> String {
        let name = field.name.canonicalName
        if field.name == .setCookie { return Self.maskedCookie(field.value) }
        guard !isCredential(name) else { return Self.mask }
        let masked = masked(field.value, of: name)
        return Self.isChallenge(name) ? Self.maskedChallenges(masked) : masked
    }

    /// Returns a URL for display, without user info and fragment, with the values of secret items masked.
    func masked(url: String) -> String { masked(url, of: "location") }

    /// Returns a text for display, with the secrets in its URLs masked.
    func masked(urlsIn text: String) -> String { masked(text, of: "") }

    private func masked(_ value: String, of name: String) -> String {
        // A fragment may hold a token, and is never sent.
        let isURL = name.withBytes { Self.urls.hasWhole($0) }
        let bytes = Array(value.utf8.prefix { !isURL || $0 != UInt8(ascii: "#") })
        var masked: [UInt8] = []
        var end = 0
        for secret in secrets(in: bytes, of: name) where secret.range.lowerBound >= end {
            masked += bytes[end..<secret.range.lowerBound]
            // User info has no name to show with a mask, so it is removed.
            if !secret.isUserInfo { masked += Self.mask.utf8 }
            end = secret.range.upperBound
        }
        return String(decoding: masked + bytes[end...], as: UTF8.self)
    }

    private static func maskedChallenges(_ value: String) -> String {
        let token = /\b(Negotiate|NTLM|Kerberos)\s+[^\s,]+/.ignoresCase().matchingSemantics(.unicodeScalar)
        return value.replacing(token) { "\($0.output.1) \(mask)" }
    }

    // Matched by scalars: a sign with a combining mark after it is a different `Character`.
    private static func maskedCookie(_ value: String) -> String {
        let pair = /^([^;=]*=)?[^;]*/.matchingSemantics(.unicodeScalar)
        return value.replacing(pair, maxReplacements: 1) { "\($0.output.1 ?? "")\(mask)" }
    }
}
