/// An absolute `http` or `https` URL in its normal form (RFC 3986 section 6.2.2 and 6.2.3).
///
/// Scheme and host in lower case, the scheme's own port and the fragment dropped, dot segments removed, an empty path
/// made `/`, percent-encoding in one form. Path case and a trailing slash are left alone: they may mean something.
package struct RequestURL: Hashable {
    /// The whole of it, without what stood before `@`.
    private let bytes: [UInt8]
    /// Where the path begins.
    private let originEnd: Int
    /// Where the `?` stands, or the end.
    private let pathEnd: Int
    /// What stood before `@`, still encoded: a credential, never part of ``text(adding:)``.
    let userInfo: [UInt8]?

    init(parsing text: String) throws(MalformedURL) {
        self = try text.withBytes { bytes in
            Result { () throws(MalformedURL) in try Self.read(bytes) }
        }.get()
    }

    private static func read(_ text: Span<UInt8>) throws(MalformedURL) -> RequestURL {
        guard let url = RequestURL(normal: text) else { return try Parser.read(text) }
        return url
    }

    init(bytes: [UInt8], originEnd: Int, pathEnd: Int, userInfo: [UInt8]?) {
        self.bytes = bytes
        self.originEnd = originEnd
        self.pathEnd = pathEnd
        self.userInfo = userInfo
    }

    /// `http` or `https`.
    var scheme: String { String(decoding: bytes.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self) }

    /// `scheme://host[:port]`, the port only where it is not the scheme's own.
    var origin: ArraySlice<UInt8> { bytes[..<originEnd] }

    var path: ArraySlice<UInt8> { bytes[originEnd..<pathEnd] }

    /// Calls `body` with origin and path where they stand.
    func withParts(_ body: (_ origin: Span<UInt8>, _ path: Span<UInt8>) -> Void) {
        body(bytes.span.extracting(..<originEnd), bytes.span.extracting(originEnd..<pathEnd))
    }

    /// The query as written, with only what must be encoded encoded; `nil` where there is no `?`.
    var query: ArraySlice<UInt8>? { pathEnd < bytes.count ? bytes[(pathEnd + 1)...] : nil }

    /// The URL to send, with `items` behind its own query. Without user info and fragment.
    func text(adding items: QueryItems = QueryItems()) -> String {
        guard !items.isEmpty else { return String(decoding: bytes, as: UTF8.self) }
        let mark = pathEnd < bytes.count ? UInt8(ascii: "&") : UInt8(ascii: "?")
        return String(decoding: bytes + [mark] + items.bytes, as: UTF8.self)
    }

    /// The URL with `items` as its whole query.
    static func text(_ url: RequestURL, _ items: QueryItems) -> String {
        let mark = items.isEmpty ? [] : [UInt8(ascii: "?")]
        return String(decoding: url.bytes[..<url.pathEnd] + mark + items.bytes, as: UTF8.self)
    }

    /// The query's own items, escapes in one form.
    ///
    /// - Parameter capacity: how many bytes of others will follow them.
    func queryItems(reserving capacity: Int = 0) -> QueryItems {
        var items = QueryItems()
        let length = bytes.count - pathEnd + capacity
        if length > 0 { items.reserveCapacity(length) }
        guard pathEnd < bytes.count else { return items }
        items.append(query: bytes.span.extracting((pathEnd + 1)...))
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
            RequestURL(bytes: bytes, originEnd: originEnd, pathEnd: pathEnd, userInfo: userInfo)
        }
    }
}
