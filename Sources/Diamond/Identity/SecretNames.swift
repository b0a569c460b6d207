/// The names that speak of credentials: of headers, parameters and members of JSON bodies.
///
/// Rather one too many: such a value still separates requests, only as a keyed digest, and does not go to another origin.
enum SecretNames {
    /// In the names of all three.
    private static let common = [
        "apikey", "api_key", "api-key", "cookie", "credential", "jwt", "passw", "secret", "session", "signature",
        "token",
    ]

    private static let words = WordSet(common)

    /// In the names of headers, which hold no ordinary words of an API.
    private static let headerWords = WordSet(common + ["auth", "key"])

    /// Whole names of parameters and members.
    private static let names = WordSet(["auth", "authorization", "key", "pass", "pwd", "sig", "sid"])

    static func holdsHeader(_ name: String) -> Bool { name.withBytes(headerWords.hasWord) }

    static func holdsMember(_ name: String) -> Bool {
        name.withBytes(holdsName)
    }

    /// - Parameter name: a parameter's, encoded; what stands in brackets is a name, too.
    static func holdsParameter(_ name: Span<UInt8>) -> Bool {
        guard !name.allSatisfy(in: name.indices, PercentEncoding.isUnreserved) else { return holdsName(name) }
        let decoded = PercentEncoding.decode(name.array(name.indices))
        let isBracket: (UInt8) -> Bool = { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        return words.hasWord(in: decoded.span)
            || decoded.split(whereSeparator: isBracket).contains { names.hasWhole($0.span) }
    }

    private static func holdsName(_ name: Span<UInt8>) -> Bool { words.hasWord(in: name) || names.hasWhole(name) }
}
