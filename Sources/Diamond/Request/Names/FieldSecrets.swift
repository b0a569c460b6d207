import HTTPTypes

/// A finder of secrets in the fields of a response, for code that keeps or shows them.
///
/// A field is a credential by its name, as a request's is, or holds a URL with user info or with a secret item.
struct FieldSecrets: Sendable {
    private let own: IdentityRules
    private let names = CredentialNames.all

    /// Creates a finder.
    ///
    /// - Parameter own: names of secrets, in addition to those that are known.
    init(own: IdentityRules = IdentityRules()) { self.own = own }

    /// Fields that say where to go on: without them a response means something else.
    private static let leading = ASCIIWordMatcher(["link", "location", "refresh"])
    /// Fields that lead the client to another URL, where `code` and `state` are credentials. In the `Link` of a list,
    /// `state` is the filter of the list.
    private static let targets = ASCIIWordMatcher(["location", "refresh"])
    /// Fields whose whole value is a URL.
    private static let urls = ASCIIWordMatcher(["content-location", "location"])
    /// Fields that ask for a credential, and have none, whatever their names.
    private static let challenges = ASCIIWordMatcher(["www-authenticate", "proxy-authenticate"])
    /// Schemes whose challenges hold a token (RFC 4559).
    private static let tokenSchemes = ["kerberos ", "negotiate ", "ntlm "]

    /// Whether a response means something else without a field of this name.
    static func isLeading(_ name: HTTPField.Name) -> Bool { name.canonicalName.withBytes { leading.hasWhole($0) } }

    /// Whether a field must not be kept in clear.
    func holdsSecret(_ field: HTTPField) -> Bool {
        let name = field.name.canonicalName
        return isCredential(name) || hasSecretURL(field, name) || Self.isChallenge(name) && Self.hasToken(field.value)
    }

    private func isCredential(_ name: String) -> Bool {
        name.withBytes { names.isSecret(header: $0) && !Self.challenges.hasWhole($0) } || own.isSecret(name)
    }

    private static func isChallenge(_ name: String) -> Bool { name.withBytes { challenges.hasWhole($0) } }

    private static func hasToken(_ challenges: String) -> Bool {
        let challenges = challenges.lowercased()
        return tokenSchemes.contains { challenges.contains($0) }
    }

    private func hasSecretURL(_ field: HTTPField, _ name: String) -> Bool {
        field.withUnsafeBytesOfValue { bytes in
            bytes.contains(where: URLSecrets.isMark) && !secrets(in: Array(bytes), of: name).isEmpty
        }
    }

    private func secrets(in bytes: [UInt8], of name: String) -> [URLSecrets.Place] {
        name.withBytes { URLSecrets(own: own, isTarget: Self.targets.hasWhole($0), isURL: Self.urls.hasWhole($0)) }
            .places(in: bytes)
    }

    // MARK: For people

    static let mask = "•••"

    /// The value for people: masked where the name says that it is secret, user info and what is secret in URLs as well.
    func masked(_ field: HTTPField) -> String {
        let name = field.name.canonicalName
        if field.name == .setCookie { return Self.maskedCookie(field.value) }
        guard !isCredential(name) else { return Self.mask }
        let masked = masked(field.value, of: name)
        return Self.isChallenge(name) ? Self.maskedChallenges(masked) : masked
    }

    /// A URL for people: without user info and fragment, the values of secret items masked.
    func masked(url: String) -> String { masked(url, of: "location") }

    /// A text for people: what is secret in the URLs in it masked.
    func masked(urlsIn text: String) -> String { masked(text, of: "") }

    private func masked(_ value: String, of name: String) -> String {
        // A fragment may hold a token, and is never sent.
        let isURL = name.withBytes { Self.urls.hasWhole($0) }
        let bytes = Array(value.utf8.prefix { !isURL || $0 != UInt8(ascii: "#") })
        var (masked, end) = ([UInt8](), 0)
        for place in secrets(in: bytes, of: name) where place.range.lowerBound >= end {
            masked += bytes[end..<place.range.lowerBound]
            // What stands before "@" has no name to be masked under: it goes.
            if !place.isUserInfo { masked += Self.mask.utf8 }
            end = place.range.upperBound
        }
        return String(decoding: masked + bytes[end...], as: UTF8.self)
    }

    private static func maskedChallenges(_ value: String) -> String {
        let token = /\b(Negotiate|NTLM|Kerberos)\s+[^\s,]+/.ignoresCase().matchingSemantics(.unicodeScalar)
        return value.replacing(token) { "\($0.output.1) \(mask)" }
    }

    // By scalars: as a character, a sign is none where a mark follows that combines with it.
    private static func maskedCookie(_ value: String) -> String {
        let pair = /^([^;=]*=)?[^;]*/.matchingSemantics(.unicodeScalar)
        return value.replacing(pair, maxReplacements: 1) { "\($0.output.1 ?? "")\(mask)" }
    }
}
