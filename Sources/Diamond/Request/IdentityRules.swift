/// What of requests does not count for their identity, and what of them is secret: on an engine for all its requests, on
/// a request besides.
public struct IdentityRules: Hashable, Sendable {
    /// Parameters that leave the identity, such as `_`, `utm_*` or a timestamp, in query, form, or at the top of a JSON
    /// body. They are sent all the same. Those of an engine are no part of the URL that an entry is listed, selected and,
    /// by an unsafe method, invalidated by; those of a request are, and an unsafe method invalidates what was stored without
    /// them whatever its query. Whole names as they are before encoding, case counts; `*` stands for any characters.
    ///
    /// Not for a credential, but where requests have an ``Request/identity``: answers of several users would be one.
    public var ignoring: [String]
    /// Headers that do not select among answers, beside those the canonical form lists. A response that varies by one
    /// of them is not stored. Case does not count. Not for a credential, as above.
    public var nonSelecting: [String]
    /// Headers, parameters and members of JSON bodies whose values are credentials, beside those whose names say so.
    /// Case does not count.
    public var secrets: [String]

    /// Nothing, unless it is said.
    public init(ignoring: [String] = [], nonSelecting: [String] = [], secrets: [String] = []) {
        self.ignoring = ignoring
        self.nonSelecting = nonSelecting
        self.secrets = secrets
    }

    /// Names compare by their bytes.
    public static func == (one: IdentityRules, other: IdentityRules) -> Bool {
        one.ignoring.isExactly(other.ignoring) && one.nonSelecting.isExactly(other.nonSelecting)
            && one.secrets.isExactly(other.secrets)
    }

    var isEmpty: Bool { ignoring.isEmpty && nonSelecting.isEmpty && secrets.isEmpty }

    /// Both rules at once.
    func union(_ other: IdentityRules) -> IdentityRules {
        IdentityRules(
            ignoring: ignoring + other.ignoring,
            nonSelecting: nonSelecting + other.nonSelecting,
            secrets: secrets + other.secrets
        )
    }

    func isIgnored(_ name: String) -> Bool {
        ignoring.contains { NamePattern.matches(Array($0.utf8)[...], Array(name.utf8)[...]) }
    }

    func isNonSelecting(_ header: String) -> Bool { nonSelecting.contains { $0.lowercased() == header } }

    func isSecret(_ name: some StringProtocol) -> Bool {
        !secrets.isEmpty && secrets.contains { $0.lowercased().isExactly(name.lowercased()) }
    }
}

/// Names with `*` for any characters.
enum NamePattern {
    private static let star = UInt8(ascii: "*")

    /// Whether the pattern is the whole name. O(pattern × name).
    static func matches(_ pattern: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> Bool {
        var (pattern, name) = (pattern, name)
        // Where to go on when what follows the last star does not fit.
        var retry: (pattern: ArraySlice<UInt8>, name: ArraySlice<UInt8>)?
        while true {
            if pattern.first == star {
                pattern = pattern.dropFirst()
                retry = (pattern, name)
            } else if let byte = name.first, pattern.first == byte {
                (pattern, name) = (pattern.dropFirst(), name.dropFirst())
            } else if name.isEmpty, pattern.isEmpty {
                return true
            } else if let last = retry, !last.name.isEmpty {
                retry = (last.pattern, last.name.dropFirst())
                (pattern, name) = (last.pattern, last.name.dropFirst())
            } else {
                return false
            }
        }
    }
}
