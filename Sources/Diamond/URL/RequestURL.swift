/// An absolute `http` or `https` URL in normal form (RFC 3986 sections 6.2.2 and 6.2.3).
///
/// Scheme and host are in lower case. The scheme's default port, the fragment and dot segments are removed. An empty
/// path is `/`, and percent-encoding is in normal form. The path's case and a trailing slash are kept, because they may
/// be significant.
///
/// It is compared and keyed in this form. It is sent with its original escapes, because a server may have signed them.
package struct RequestURL: Hashable {
    /// The whole URL without user info.
    // A String, so that most URLs need no copy. Its characters are ASCII.
    let whole: String
    /// The whole URL with its original escapes, if they differ.
    private let asWritten: String?
    /// The start of the path, in bytes.
    private let originEnd: Int
    /// The position of the `?`, or the end.
    private let pathEnd: Int
    /// The encoded user info: a credential, never part of ``text(adding:)``.
    package let userInfo: [UInt8]?

    init(parsing text: String) throws(MalformedURL) {
        if let url = RequestURL(normal: text) {
            self = url
        } else {
            self = try text.withBytes { bytes in
                Result { () throws(MalformedURL) in try Parser.read(bytes) }
            }.get()
        }
    }

    init(whole: String, originEnd: Int, pathEnd: Int, userInfo: [UInt8]?, asWritten: String? = nil) {
        self.whole = whole
        self.asWritten = asWritten
        self.originEnd = originEnd
        self.pathEnd = pathEnd
        self.userInfo = userInfo
    }

    /// `http` or `https`.
    var scheme: String { String(whole.prefix { $0 != ":" }) }

    /// The origin, `scheme://host[:port]`, with the port unless it is the scheme's default.
    var origin: [UInt8] { whole.withBytes { $0.array(0..<originEnd) } }

    /// The host: a name or an address. An IPv6 address is in brackets.
    var host: String {
        let authority = originText.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
        let colon = authority.lastIndex(of: UInt8(ascii: ":"))
        let bracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        return String(Substring(authority[..<(colon.flatMap { $0 > bracket ? $0 : nil } ?? authority.endIndex)]))
    }

    /// ``origin`` as text.
    package var originText: String { String(decoding: origin, as: UTF8.self) }

    var path: [UInt8] { whole.withBytes { $0.array(originEnd..<pathEnd) } }

    /// The path with its original escapes.
    var sentPath: String {
        guard let asWritten else { return String(decoding: path, as: UTF8.self) }
        return String(Substring(asWritten.utf8.dropFirst(originEnd).prefix { $0 != UInt8(ascii: "?") }))
    }

    /// Calls `body` with the origin and the path, without copying them.
    func withParts(_ body: (_ origin: Span<UInt8>, _ path: Span<UInt8>) -> Void) {
        whole.withBytes { body($0.extracting(..<originEnd), $0.extracting(originEnd..<pathEnd)) }
    }

    /// Whether the URL has the origin of a prefix, and its path or one below it. The prefix's query does not count.
    func isBelow(_ prefix: RequestURL) -> Bool {
        guard origin == prefix.origin else { return false }
        let (path, directory) = (path, prefix.path)
        guard path.starts(with: directory), directory.last != UInt8(ascii: "/") else {
            return path.starts(with: directory)
        }
        return path.count == directory.count || path[directory.count] == UInt8(ascii: "/")
    }

    private var hasQuery: Bool { pathEnd < whole.utf8.count }

    /// Returns the URL to send, with `items` after its own query, without user info and fragment.
    package func text(adding items: QueryItems = QueryItems()) -> String {
        let sent = asWritten ?? whole
        guard !items.isEmpty else { return sent }
        return sent + (hasQuery ? "&" : "?") + String(decoding: items.bytes, as: UTF8.self)
    }

    /// Returns the URL in normal form, with `items` as its whole query.
    static func text(of url: RequestURL, query items: QueryItems) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(url.pathEnd + 1 + items.bytes.count)
        url.whole.withBytes { text.append($0, in: 0..<url.pathEnd) }
        if !items.isEmpty {
            text.append(UInt8(ascii: "?"))
            text += items.bytes
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the items of the URL's query, with escapes in normal form.
    ///
    /// - Parameter capacity: the number of bytes to reserve for further items.
    func queryItems(reserving capacity: Int = 0) -> QueryItems {
        var items = QueryItems()
        let length = whole.utf8.count - pathEnd + capacity
        if length > 0 { items.reserveCapacity(length) }
        if hasQuery { whole.withBytes { items.append(query: $0.extracting((pathEnd + 1)...)) } }
        return items
    }
}

extension RequestURL {
    package static func == (one: RequestURL, other: RequestURL) -> Bool {
        one.whole == other.whole && one.userInfo == other.userInfo
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(whole) }
}

/// The error for a text that is not a valid `http` or `https` URL.
struct MalformedURL: Error, Hashable {
    /// The mistake, its place, and the remedy, without secrets.
    let message: String
}
