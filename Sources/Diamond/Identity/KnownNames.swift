/// The names of headers, parameters and members of JSON bodies that mean something to a request's identity.
///
/// Held by the rules, because a global is asked for anew, behind a lock that lets pass, for every name of every request.
final class KnownNames: Sendable {
    static let all = KnownNames()

    private let words: WordSet
    private let headerWords: WordSet

    /// Whole names of parameters and members.
    private let names = WordSet(["auth", "authorization", "key", "pass", "pwd", "sig", "sid"])

    /// Headers that do not select among a resource's answers: about the message, the connection, the cache, the
    /// client's build, or tracing.
    private let nonSelectingHeaders = WordSet([
        "user-agent", "date", "content-length", "expect", "max-forwards",
        "range", "cache-control", "pragma", "priority",
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "traceparent", "tracestate", "baggage", "b3",
        "x-request-id", "x-correlation-id", "x-amzn-trace-id", "x-cloud-trace-context",
    ])

    /// How the names of others begin.
    private let nonSelectingFamilies = WordSet(["if-", "proxy-", "x-b3-"])

    private init() {
        // In the names of all three. Rather one too many: such a value still separates requests, only as a keyed digest,
        // and does not go to another origin.
        let common = [
            "apikey", "api_key", "api-key", "cookie", "credential", "jwt", "passw", "secret", "session", "signature",
            "token",
        ]
        words = WordSet(common)
        // In the names of headers, which hold no ordinary words of an API.
        headerWords = WordSet(common + ["auth", "key"])
    }

    /// Whether a header may tell answers apart.
    func isSelecting(header: Span<UInt8>) -> Bool {
        !nonSelectingHeaders.hasWhole(header) && !nonSelectingFamilies.hasBeginning(of: header)
    }

    // MARK: Credentials

    func isSecret(header: Span<UInt8>) -> Bool { headerWords.hasWord(in: header) }

    func isSecret(member name: Span<UInt8>) -> Bool { isSecret(name, WordSet.letters(of: name)) }

    /// - Parameter name: a parameter's, encoded; what stands in brackets is a name, too.
    func isSecret(parameter name: Span<UInt8>) -> Bool {
        let letters = WordSet.letters(of: name)
        guard letters & Self.marks != 0, !name.allSatisfy(in: name.indices, { !ByteClass.special.contains($0) }) else {
            return isSecret(name, letters)
        }
        return isSecret(escaped: name)
    }

    @inline(never)
    private func isSecret(escaped name: Span<UInt8>) -> Bool {
        let decoded = PercentEncoding.decode(name.array(name.indices))
        let isBracket: (UInt8) -> Bool = { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        return words.hasWord(in: decoded.span)
            || decoded.split(whereSeparator: isBracket).contains { names.hasWhole($0.span) }
    }

    /// What an escape or a bracket has among its letters.
    private static let marks =
        WordSet.bit(UInt8(ascii: "%")) | WordSet.bit(UInt8(ascii: "[")) | WordSet.bit(UInt8(ascii: "]"))

    private func isSecret(_ name: Span<UInt8>, _ letters: UInt32) -> Bool {
        words.hasWord(in: name, letters) || names.hasWhole(name)
    }
}
