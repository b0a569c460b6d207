/// The parts of requests that do not count for the key, and the parts that are secret. An engine's rules apply to all
/// its requests; a request can add its own.
public struct IdentityRules: Hashable, Sendable {
    /// Parameters that are left out of the key, such as `_`, `utm_*` or a timestamp, in the query, in a form, or at the
    /// top level of a JSON body. They are still sent. Each is a whole, unencoded name. Case matters; `*` matches any
    /// characters.
    ///
    /// A cache entry is listed, selected and invalidated by its URL. That URL omits the parameters that the engine
    /// ignores, and contains those that only a request ignores. An unsafe request also invalidates the entries of its
    /// path whose requests ignored a parameter, whatever its own query.
    ///
    /// Do not list a credential unless the requests have an ``Request/identity``: several users would share one
    /// response.
    public var ignoring: [String]
    /// Headers that are not part of the key, in addition to the built-in list. If a response varies by one of them
    /// (`Vary`), several variants are stored under the key. Case is ignored. Do not list a credential, as above.
    public var nonSelecting: [String]
    /// Headers, parameters and members of JSON bodies whose values are credentials, in addition to those recognized by
    /// their names. Case is ignored.
    public var secrets: [String]

    /// Creates rules; each list is empty by default.
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

    /// Returns the combined rules.
    func union(_ other: IdentityRules) -> IdentityRules {
        guard !other.isEmpty else { return self }
        return IdentityRules(
            ignoring: ignoring + other.ignoring,
            nonSelecting: nonSelecting + other.nonSelecting,
            secrets: secrets + other.secrets
        )
    }

    package func isIgnored(_ name: String) -> Bool {
        ignoring.contains { NamePattern.matches(Array(name.utf8)[...], pattern: Array($0.utf8)[...]) }
    }

    func isNonSelecting(_ header: String) -> Bool { nonSelecting.contains { $0.lowercased() == header } }

    package func isSecret(_ name: some StringProtocol) -> Bool {
        !secrets.isEmpty && secrets.contains { $0.lowercased().isExactly(name.lowercased()) }
    }
}

/// A matcher for names with the wildcard `*`.
enum NamePattern {
    private static let star = UInt8(ascii: "*")

    /// Whether the pattern matches the whole name. O(pattern × name).
    static func matches(_ name: ArraySlice<UInt8>, pattern: ArraySlice<UInt8>) -> Bool {
        var pattern = pattern
        var name = name
        // The position to continue from if the bytes after the last star do not match.
        var retry: (pattern: ArraySlice<UInt8>, name: ArraySlice<UInt8>)?
        while true {
            if pattern.first == star {
                pattern = pattern.dropFirst()
                retry = (pattern, name)
            } else if let byte = name.first, pattern.first == byte {
                pattern = pattern.dropFirst()
                name = name.dropFirst()
            } else if name.isEmpty, pattern.isEmpty {
                return true
            } else if let last = retry, !last.name.isEmpty {
                pattern = last.pattern
                name = last.name.dropFirst()
                retry = (pattern, name)
            } else {
                return false
            }
        }
    }
}

/// The header fields of a request that identify its stored response, besides method, URL, parameters and body.
public enum IdentityPreset: String, Hashable, Sendable, CaseIterable, Codable {
    /// Every field that may select among responses is part of the key, except a short list such as `User-Agent`. This
    /// is for apps, which send the same fields with each request. Responses are found without reading their `Vary`.
    case selectingHeaders
    /// Method and target URI are the key, and the `Vary` of the stored responses selects among them (RFC 9111 section
    /// 4.1). This is for proxies, whose clients send different fields. In a private cache, credentials are part of the
    /// key, too, unless the request has an ``Request/identity``.
    ///
    /// The cache does all that HTTP allows. Under the policy `automatic`, it serves a stale response when the server
    /// cannot be reached (section 4.2.4). The response to a POST may answer a GET (RFC 9110 section 9.3.3).
    case http
}
