public import Foundation

/// A cookie in a ``CookieJar`` (RFC 6265).
public struct Cookie: Hashable, Sendable {
    /// The name; empty for a cookie that a server sent without `=`. A name set by the app is sent as UTF-8.
    public var name: String {
        get { sentName.text }
        set { sentName = CookieText(newValue) }
    }
    /// The value. It is secret and shown in no description. A value set by the app is sent as UTF-8.
    public var value: String {
        get { sentValue.text }
        set { sentValue = CookieText(newValue) }
    }
    /// The domain, in lower case, without a leading dot.
    public var domain: String
    /// Whether the cookie is sent to the host ``domain`` only, not to its subdomains.
    public var isHostOnly: Bool
    /// The path. The cookie is sent to URLs with this path or one below it.
    public var path: String
    /// The expiration date; `nil` for a cookie that ends with the jar.
    public var expires: Date?
    /// Whether the cookie is sent over `https` only.
    public var isSecure: Bool
    /// Whether scripts of a page must not read the cookie. The jar only stores this attribute.
    public var isHTTPOnly: Bool
    /// The name as sent.
    private(set) var sentName: CookieText
    private var sentValue: CookieText

    /// Creates a cookie. By default it is valid for all paths of one host, sent over `https` only, and ends with the
    /// jar.
    public init(
        _ name: String,
        _ value: String,
        domain: String,
        isHostOnly: Bool = true,
        path: String = "/",
        expires: Date? = nil,
        isSecure: Bool = true,
        isHTTPOnly: Bool = true
    ) {
        self.init(
            CookieText(name), CookieText(value), domain: domain, isHostOnly: isHostOnly, path: path, expires: expires,
            isSecure: isSecure, isHTTPOnly: isHTTPOnly)
    }

    init(
        _ name: CookieText,
        _ value: CookieText,
        domain: String,
        isHostOnly: Bool,
        path: String,
        expires: Date?,
        isSecure: Bool,
        isHTTPOnly: Bool
    ) {
        sentName = name
        sentValue = value
        self.domain = domain.lowercased()
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
    }

    /// The properties that identify a cookie: a new cookie replaces the one with an equal key.
    struct Key: Hashable {
        let name: CookieText
        let domain: String
        let isHostOnly: Bool
        let path: String

        static func == (one: Key, other: Key) -> Bool {
            one.name == other.name && one.domain.isExactly(other.domain) && one.isHostOnly == other.isHostOnly
                && one.path.isExactly(other.path)
        }
    }

    /// Texts compare by their bytes.
    public static func == (one: Cookie, other: Cookie) -> Bool {
        one.key == other.key && one.sentValue == other.sentValue && one.expires == other.expires
            && one.isSecure == other.isSecure && one.isHTTPOnly == other.isHTTPOnly
    }

    var key: Key { Key(name: sentName, domain: domain, isHostOnly: isHostOnly, path: path) }

    /// The bytes sent in `Cookie`: `name=value`, or the value alone.
    var pair: [UInt8] {
        name.isEmpty ? sentValue.bytes : sentName.bytes + [UInt8(ascii: "=")] + sentValue.bytes
    }

    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie: Redacted {
    /// Name, domain and path, without the value.
    public var description: String { "\(name)=••• for \(isHostOnly ? "" : ".")\(domain)\(path)" }
}
