/// An absolute `http` or `https` URL in its normal form (RFC 3986 section 6.2.2 and 6.2.3).
///
/// Scheme and host in lower case, the scheme's own port and the fragment dropped, dot segments removed, an empty path
/// made `/`, percent-encoding in one form. Path case and a trailing slash are left alone: they may mean something.
///
/// It is compared and keyed in that form. It is sent with the escapes that were written, because a server may have signed
/// them.
package struct RequestURL: Hashable {
    /// The whole of it, without what stood before `@`.
    // Text, because most URLs are taken as they stand, without a copy; its characters are ASCII.
    let whole: String
    /// The whole with the escapes that were written, where they differ.
    private let asWritten: String?
    /// The position where the path begins, in bytes.
    private let originEnd: Int
    /// The position of the `?`, or the end.
    private let pathEnd: Int
    /// The text before `@`, still encoded: a credential, never part of ``text(adding:)``.
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

    /// `scheme://host[:port]`, the port only where it is not the scheme's own.
    var origin: [UInt8] { whole.withBytes { $0.array(0..<originEnd) } }

    /// The name, or the address, which stands in brackets where it is of version 6.
    var host: String {
        let authority = place.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
        let colon = authority.lastIndex(of: UInt8(ascii: ":"))
        let bracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        return String(Substring(authority[..<(colon.flatMap { $0 > bracket ? $0 : nil } ?? authority.endIndex)]))
    }

    /// ``origin`` as text, for messages.
    var place: String { String(decoding: origin, as: UTF8.self) }

    var path: [UInt8] { whole.withBytes { $0.array(originEnd..<pathEnd) } }

    /// The path with the escapes that were written.
    var sentPath: String {
        guard let asWritten else { return String(decoding: path, as: UTF8.self) }
        return String(Substring(asWritten.utf8.dropFirst(originEnd).prefix { $0 != UInt8(ascii: "?") }))
    }

    /// Calls `body` with origin and path where they stand.
    func withParts(_ body: (_ origin: Span<UInt8>, _ path: Span<UInt8>) -> Void) {
        whole.withBytes { body($0.extracting(..<originEnd), $0.extracting(originEnd..<pathEnd)) }
    }

    private var hasQuery: Bool { pathEnd < whole.utf8.count }

    /// The URL to send, with `items` behind its own query. Without user info and fragment.
    package func text(adding items: QueryItems = QueryItems()) -> String {
        let sent = asWritten ?? whole
        guard !items.isEmpty else { return sent }
        return sent + (hasQuery ? "&" : "?") + String(decoding: items.bytes, as: UTF8.self)
    }

    /// The URL with `items` as its whole query, in its normal form.
    static func text(_ url: RequestURL, _ items: QueryItems) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(url.pathEnd + 1 + items.bytes.count)
        url.whole.withBytes { text.append($0, 0..<url.pathEnd) }
        if !items.isEmpty {
            text.append(UInt8(ascii: "?"))
            text += items.bytes
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The query's own items, escapes in one form.
    ///
    /// - Parameter capacity: how many bytes of others will follow them.
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
