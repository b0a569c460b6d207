/// An absolute `http` or `https` URL in its normal form (RFC 3986 section 6.2.2 and 6.2.3).
///
/// Scheme and host in lower case, the scheme's own port and the fragment dropped, dot segments removed, an empty path
/// made `/`, percent-encoding in one form. Path case and a trailing slash are left alone: they may mean something.
package struct RequestURL: Hashable {
    /// The whole of it, without what stood before `@`.
    // Text, because most URLs are taken as they stand, without a copy; its characters are ASCII.
    private let whole: String
    /// Where the path begins, in bytes.
    private let originEnd: Int
    /// Where the `?` stands, or the end.
    private let pathEnd: Int
    /// What stood before `@`, still encoded: a credential, never part of ``text(adding:)``.
    let userInfo: [UInt8]?

    init(parsing text: String) throws(MalformedURL) {
        if let url = RequestURL(normal: text) {
            self = url
        } else {
            self = try text.withBytes { bytes in
                Result { () throws(MalformedURL) in try Parser.read(bytes) }
            }.get()
        }
    }

    init(whole: String, originEnd: Int, pathEnd: Int, userInfo: [UInt8]?) {
        self.whole = whole
        self.originEnd = originEnd
        self.pathEnd = pathEnd
        self.userInfo = userInfo
    }

    /// `http` or `https`.
    var scheme: String { String(whole.prefix { $0 != ":" }) }

    /// `scheme://host[:port]`, the port only where it is not the scheme's own.
    var origin: [UInt8] { whole.withBytes { $0.array(0..<originEnd) } }

    var path: [UInt8] { whole.withBytes { $0.array(originEnd..<pathEnd) } }

    /// Calls `body` with origin and path where they stand.
    func withParts(_ body: (_ origin: Span<UInt8>, _ path: Span<UInt8>) -> Void) {
        whole.withBytes { body($0.extracting(..<originEnd), $0.extracting(originEnd..<pathEnd)) }
    }

    private var hasQuery: Bool { pathEnd < whole.utf8.count }

    /// The URL to send, with `items` behind its own query. Without user info and fragment.
    func text(adding items: QueryItems = QueryItems()) -> String {
        guard !items.isEmpty else { return whole }
        return whole + (hasQuery ? "&" : "?") + String(decoding: items.bytes, as: UTF8.self)
    }

    /// The URL with `items` as its whole query.
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
    /// A URL that is being written.
    struct Writer {
        var bytes: [UInt8] = []
        var originEnd = 0
        var pathEnd = 0
        var userInfo: [UInt8]?

        var url: RequestURL {
            RequestURL(
                whole: String(decoding: bytes, as: UTF8.self), originEnd: originEnd, pathEnd: pathEnd,
                userInfo: userInfo)
        }
    }
}
