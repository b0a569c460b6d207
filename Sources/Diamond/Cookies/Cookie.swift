public import Foundation

/// A cookie in a ``CookieJar`` (RFC 6265).
public struct Cookie: Hashable, Sendable {
    /// Empty for one that a server has sent without `=`. Sent as UTF-8 once an app has set it.
    public var name: String {
        get { sentName.text }
        set { sentName = CookieText(newValue) }
    }
    /// Secret: no description shows it. Sent as UTF-8 once an app has set it.
    public var value: String {
        get { sentValue.text }
        set { sentValue = CookieText(newValue) }
    }
    /// The host that it is for, in lower case, without a dot before it.
    public var domain: String
    /// Whether it is for that host alone, and not for those below it.
    public var isHostOnly: Bool
    /// The URLs that it is for: those whose path is this, or below it.
    public var path: String
    /// The time when it ends; `nil` for a cookie that ends with the jar.
    public var expires: Date?
    /// Whether it is sent over `https` only.
    public var isSecure: Bool
    /// Whether scripts of a page may not read it. Kept, and nothing else: there are no scripts here.
    public var isHTTPOnly: Bool
    /// The name as it is sent.
    private(set) var sentName: CookieText
    private var sentValue: CookieText

    /// A cookie as an app has kept it. Unless it says otherwise it is for all paths of one host, over `https` only, and
    /// ends with the jar.
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

    /// The properties by which a new cookie replaces an old one.
    struct Place: Hashable {
        let name: CookieText
        let domain: String
        let isHostOnly: Bool
        let path: String

        static func == (one: Place, other: Place) -> Bool {
            one.name == other.name && one.domain.isExactly(other.domain) && one.isHostOnly == other.isHostOnly
                && one.path.isExactly(other.path)
        }
    }

    /// Texts compare by their bytes.
    public static func == (one: Cookie, other: Cookie) -> Bool {
        one.place == other.place && one.sentValue == other.sentValue && one.expires == other.expires
            && one.isSecure == other.isSecure && one.isHTTPOnly == other.isHTTPOnly
    }

    var place: Place { Place(name: sentName, domain: domain, isHostOnly: isHostOnly, path: path) }

    /// `name=value`, or the value alone, as it is sent.
    var pair: [UInt8] {
        name.isEmpty ? sentValue.bytes : sentName.bytes + [UInt8(ascii: "=")] + sentValue.bytes
    }

    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Name, domain and path, without the value.
    public var description: String { "\(name)=••• for \(isHostOnly ? "" : ".")\(domain)\(path)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}
