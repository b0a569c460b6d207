/// The names of headers, parameters and members of JSON bodies that mean something to a request's identity.
///
/// The rules hold it, because each access to a global passes a lock, for every name of every request.
final class CredentialNames: Sendable {
    static let all = CredentialNames()

    private let words: ASCIIWordMatcher
    private let headerWords: ASCIIWordMatcher
    /// Letters of which every encoded name has one that has a word, an escape or a bracket in it.
    private let suspects: LetterSet

    /// Whole names of parameters and members.
    private let names = ASCIIWordMatcher([
        "assertion", "auth", "authorization", "client_assertion", "code_verifier", "device_code", "key", "pass", "pwd",
        "samlresponse", "sas", "sig", "sid",
    ])

    /// Whole names of parameters in a URL to which a server redirects: their values are good for one use (RFC 6749
    /// section 4.1.2). A request's `code` is a country more often.
    private let targetNames = ASCIIWordMatcher(["code", "state", "ticket"])

    /// Headers that do not select among a resource's answers: about the message, the connection, the cache, the
    /// client's build, or tracing.
    private let nonSelectingHeaders = ASCIIWordMatcher([
        "user-agent", "date", "content-length", "expect", "max-forwards",
        "range", "cache-control", "pragma", "priority",
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "traceparent", "tracestate", "baggage", "b3",
        "x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ])

    /// The beginnings of other headers that do not select.
    private let nonSelectingFamilies = ASCIIWordMatcher(["if-", "proxy-", "x-b3-"])

    private init() {
        // In the names of all three. Rather one too many: such a value still separates requests, only as a keyed digest,
        // and does not go to another origin.
        let common = [
            "apikey", "api_key", "api-key", "cookie", "credential", "jwt", "passw", "secret", "session", "signature",
            "token",
        ]
        words = ASCIIWordMatcher(common)
        var suspects = LetterSet(of: Array("%[]".utf8).span)
        suspects.formUnion(words.needed)
        self.suspects = suspects
        // In the names of headers, which hold no ordinary words of an API.
        headerWords = ASCIIWordMatcher(common + ["auth", "key"])
    }

    /// Whether a header may tell answers apart.
    @inline(__always)
    func isSelecting(header: Span<UInt8>) -> Bool {
        !nonSelectingHeaders.hasWhole(header) && !nonSelectingFamilies.hasBeginning(of: header)
    }

    // MARK: Credentials

    /// Whether a parameter is a secret in a URL to which a server leads, in addition to the secrets of all requests.
    func isSecret(target name: Span<UInt8>) -> Bool { targetNames.hasWhole(name) }

    func isSecret(header: Span<UInt8>) -> Bool { headerWords.hasWord(in: header) }

    func isSecret(member name: Span<UInt8>) -> Bool { words.hasWord(in: name) || names.hasWhole(name) }

    /// - Parameters:
    ///   - name: a parameter's, encoded; what stands in brackets is a name, too.
    ///   - letters: those of the name.
    @inline(__always)
    func isSecret(parameter name: Span<UInt8>, _ letters: LetterSet) -> Bool {
        (!letters.isDisjoint(with: suspects) || names.mayBegin(name)) && isSecret(suspect: name, letters)
    }

    @inline(never)
    private func isSecret(suspect name: Span<UInt8>, _ letters: LetterSet) -> Bool {
        guard name.allSatisfy(in: name.indices, { !ByteClass.special.contains($0) }) else {
            return isSecret(escaped: name)
        }
        return words.hasWord(in: name, letters) || names.hasWhole(name)
    }

    private func isSecret(escaped name: Span<UInt8>) -> Bool {
        let decoded = PercentEncoding.decode(name.array(name.indices))
        let isBracket: (UInt8) -> Bool = { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        return words.hasWord(in: decoded.span)
            || decoded.split(whereSeparator: isBracket).contains { names.hasWhole($0.span) }
    }
}
