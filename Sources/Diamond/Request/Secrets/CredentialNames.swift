/// The known names of headers, parameters and JSON members that are credentials, or that do not select.
///
/// ``KeyRules`` stores the instance: each access to a global takes a lock, which is too slow for every name of every
/// request.
final class CredentialNames: Sendable {
    static let all = CredentialNames()

    private let words: ASCIIWordMatcher
    private let headerWords: ASCIIWordMatcher
    /// A set of bytes of which every encoded name contains one if it contains a word, an escape or a bracket.
    private let suspects: LetterSet

    /// Whole names of parameters and members.
    private let names = ASCIIWordMatcher([
        "assertion", "auth", "authorization", "client_assertion", "code_verifier", "device_code", "key", "pass", "pwd",
        "samlresponse", "sas", "sig", "sid",
    ])

    /// Whole names of parameters in a redirect's URL. Their values are valid once (RFC 6749 section 4.1.2). In other
    /// requests `code` is more often a country.
    private let targetNames = ASCIIWordMatcher(["code", "state", "ticket"])

    /// Headers that do not select among a resource's responses. They describe the message, the connection, the cache,
    /// the client's version or tracing.
    private let nonSelectingHeaders = ASCIIWordMatcher([
        "user-agent", "date", "content-length", "expect", "max-forwards",
        "range", "cache-control", "pragma", "priority",
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "traceparent", "tracestate", "baggage", "b3",
        "x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ])

    /// Prefixes of other headers that do not select.
    private let nonSelectingFamilies = ASCIIWordMatcher(["if-", "proxy-", "x-b3-"])

    private init() {
        // Words in the names of headers, parameters and members. A false match does little harm: the value still
        // separates requests, as a keyed digest, and is not sent to another origin.
        let common = [
            "apikey", "api_key", "api-key", "cookie", "credential", "jwt", "passw", "secret", "session", "signature",
            "token",
        ]
        words = ASCIIWordMatcher(common)
        var suspects = LetterSet(of: Array("%[]".utf8).span)
        suspects.formUnion(words.needed)
        self.suspects = suspects
        // Only for headers, whose names contain no ordinary words of an API.
        headerWords = ASCIIWordMatcher(common + ["auth", "key"])
    }

    /// Whether a header may select among responses.
    @inline(__always)
    func isSelecting(header: Span<UInt8>) -> Bool {
        !nonSelectingHeaders.hasWhole(header) && !nonSelectingFamilies.hasBeginning(of: header)
    }

    // MARK: Credentials

    /// Whether a parameter of a redirect's URL is secret, in addition to the secrets of all requests.
    func isSecret(target name: Span<UInt8>) -> Bool { targetNames.hasWhole(name) }

    func isSecret(header: Span<UInt8>) -> Bool { headerWords.hasWord(in: header) }

    func isSecret(member name: Span<UInt8>) -> Bool { words.hasWord(in: name) || names.hasWhole(name) }

    /// - Parameters:
    ///   - name: the encoded name of a parameter. A part in brackets counts as a name, too.
    ///   - letters: the letters of the name.
    @inline(__always)
    func isSecret(parameter name: Span<UInt8>, letters: LetterSet) -> Bool {
        (!letters.isDisjoint(with: suspects) || names.mayMatch(name)) && isSecret(suspect: name, letters: letters)
    }

    @inline(never)
    private func isSecret(suspect name: Span<UInt8>, letters: LetterSet) -> Bool {
        guard name.allSatisfy(in: name.indices, { !ByteClass.special.contains($0) }) else {
            return isSecret(escaped: name)
        }
        return words.hasWord(in: name, letters: letters) || names.hasWhole(name)
    }

    private func isSecret(escaped name: Span<UInt8>) -> Bool {
        let decoded = PercentEncoding.decode(name.array(name.indices))
        let isBracket: (UInt8) -> Bool = { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        return words.hasWord(in: decoded.span)
            || decoded.split(whereSeparator: isBracket).contains { names.hasWhole($0.span) }
    }
}
