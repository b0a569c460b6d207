/// The paging scheme of an API.
///
/// A scheme returns the request for a position (``request(_:at:)``), and the position after a received page
/// (``position(after:at:)``). It has no state: a collection, or your own loop, stores the position.
///
/// ```swift
/// let paging = Paging.offset(limit: 50)
/// var position = PagePosition.start
/// while let request = try paging.request(Request("cities"), at: position) {
///     let page = try PageFormat(items: "items", total: "total").page(of: try await engine.send(request))
///     position = try paging.position(after: page, at: position)
/// }
/// ```
public struct Paging: Hashable, Sendable {
    enum Scheme: Hashable, Sendable {
        case whole
        case offset(parameter: String)
        case number(first: Int, parameter: String)
        case cursor(parameter: String)
        case items(older: String, newer: String?, key: JSONMemberPath)
        case link(relation: String)
        case nextURL
    }

    let scheme: Scheme
    /// The number of requested items; `nil` leaves it to the server.
    let limit: Int?
    let limitParameter: String?

    private init(_ scheme: Scheme, limit: Int? = nil, in parameter: String? = nil) {
        self.scheme = scheme
        self.limit = limit.map { max($0, 1) }
        limitParameter = limit == nil ? nil : parameter
    }

    /// The scheme without pages: one request returns the whole list.
    public static let whole = Paging(.whole)

    /// Returns the scheme of offsets, the number of preceding items: `?offset=100&limit=50`.
    ///
    /// The next page starts after the received items, even if the server sent fewer than requested. A page with fewer
    /// than `limit` items is the last, unless the total is larger.
    public static func offset(limit: Int, parameter: String = "offset", limitParameter: String = "limit") -> Paging {
        Paging(.offset(parameter: parameter), limit: limit, in: limitParameter)
    }

    /// Returns the scheme of page numbers: `?page=2&per_page=50`.
    ///
    /// A page with fewer than `size` items is the last, unless the total is larger than the number of received items.
    ///
    /// - Parameters:
    ///   - size: the number of items of a page.
    ///   - first: the number of the first page.
    ///   - parameter: the name of the parameter for the number.
    ///   - sizeParameter: the name of the parameter for the size; `nil` does not send it.
    public static func page(
        size: Int, first: Int = 1, parameter: String = "page", sizeParameter: String? = "per_page"
    ) -> Paging {
        Paging(.number(first: first, parameter: parameter), limit: size, in: sizeParameter)
    }

    /// Returns the scheme of cursors: `?cursor=b2Zmc2V0`. Each page contains the cursor of the next at the path
    /// ``PageFormat/next``.
    ///
    /// A page is the last if its cursor is missing, `null`, `false` or an empty string, or if it repeats the cursor of
    /// its own request, which would never end.
    public static func cursor(
        _ parameter: String = "cursor", limit: Int? = nil, limitParameter: String = "limit"
    ) -> Paging {
        Paging(.cursor(parameter: parameter), limit: limit, in: limitParameter)
    }

    /// Returns the scheme of items before an item's id: `?max_id=1234&limit=50`.
    ///
    /// An empty page is the last. So is a page that ends with the item of its own request, because some servers repeat
    /// that item.
    ///
    /// - Parameters:
    ///   - older: the parameter for the id of the last loaded item, to load more.
    ///   - newer: the parameter for the id of the first loaded item, to refresh; `nil` refreshes from the start.
    ///   - key: the path of the id in an item.
    ///   - limit: the number of items of a page; `nil` leaves it to the server.
    ///   - limitParameter: the name of the parameter for the limit.
    public static func items(
        before older: String = "max_id", after newer: String? = nil, key: JSONMemberPath = "id", limit: Int? = nil,
        limitParameter: String = "limit"
    ) -> Paging {
        Paging(.items(older: older, newer: newer, key: key), limit: limit, in: limitParameter)
    }

    /// Returns the scheme of `Link` fields (RFC 8288). A page without a link to the next is the last.
    ///
    /// The link must have the origin of the request, because the credentials are sent there.
    public static func link(
        _ relation: String = "next", limit: Int? = nil, limitParameter: String = "per_page"
    ) -> Paging {
        Paging(.link(relation: relation.lowercased()), limit: limit, in: limitParameter)
    }

    /// Returns the scheme of URLs in the body, at the path ``PageFormat/next``. A page without a URL is the last.
    ///
    /// The URL must have the origin of the request, because the credentials are sent there.
    public static func nextURL(limit: Int? = nil, limitParameter: String = "limit") -> Paging {
        Paging(.nextURL, limit: limit, in: limitParameter)
    }
}

// MARK: Requests

extension Paging {
    /// Returns the request for the page at a position; `nil` at the end. It has no ``Request/cacheKey`` and is never
    /// queued, because each page is a request of its own.
    ///
    /// - Throws: ``PagingError``: `otherScheme` for a position of another scheme, `otherOrigin` for a page URL with
    ///   another origin than the list's absolute URL.
    public func request(_ base: Request, at position: PagePosition) throws(PagingError) -> Request? {
        var request = page(of: base)
        switch (scheme, position) {
        case (_, .end): return nil
        case (.number(let first, let parameter), .start): request.parameters[parameter] = JSONValue(first)
        case (_, .start): break
        case (.offset(let parameter), .offset(let offset)): request.parameters[parameter] = JSONValue(offset)
        case (.number(_, let parameter), .number(let number, _)): request.parameters[parameter] = JSONValue(number)
        case (.cursor(let parameter), .cursor(let cursor)): request.parameters[parameter] = cursor
        case (.items(let older, _, _), .before(let id)): request.parameters[older] = id
        case (.link, .url(let url)), (.nextURL, .url(let url)):
            if let own = try? RequestURL(parsing: base.url), !own.isOfSameOrigin(url) { throw .otherOrigin }
            // The URL contains the parameters of the page.
            request.url = url
            request.parameters = Parameters()
        default:
            throw PagingError(
                .otherScheme, "the position \(position) is not one of this scheme: begin at the start")
        }
        return request
    }

    private func page(of base: Request) -> Request {
        var request = base
        request.cacheKey = nil
        request.replay = .never
        if let limit, let limitParameter { request.parameters[limitParameter] = JSONValue(limit) }
        return request
    }

    /// Whether a position belongs to this scheme.
    package func supports(_ position: PagePosition) -> Bool {
        switch (scheme, position) {
        case (_, .start), (_, .end), (.offset, .offset), (.number, .number), (.cursor, .cursor), (.items, .before),
            (.link, .url), (.nextURL, .url):
            true
        default: false
        }
    }

    /// Returns the request for the items newer than the first loaded one; `nil` if the scheme has none.
    ///
    /// - Parameters:
    ///   - base: the request of the list.
    ///   - first: the id of the first loaded item.
    ///   - last: the id of the last newer item received so far, if the server did not send all at once.
    package func request(_ base: Request, newerThan first: JSONValue, before last: JSONValue? = nil) -> Request? {
        guard case .items(let older, let newer?, _) = scheme else { return nil }
        var request = page(of: base)
        request.parameters[newer] = first
        if let last { request.parameters[older] = last }
        return request
    }
}

// MARK: Positions

extension Paging {
    /// Returns the position after a page.
    ///
    /// - Throws: ``PagingError`` `otherOrigin` for a next page with another origin, which would receive the
    ///   credentials.
    public func position(after page: Page, at position: PagePosition) throws(PagingError) -> PagePosition {
        if page.isLast == true { return .end }
        switch scheme {
        case .whole: return .end
        case .offset:
            var next = page.content.count
            if case .offset(let offset) = position { next += offset }
            return hasMore(after: page, count: next) ? .offset(next) : .end
        case .number(let first, _):
            var (number, next) = (first, page.content.count)
            if case .number(let present, let items) = position { (number, next) = (present, next + items) }
            return hasMore(after: page, count: next) ? .number(number + 1, after: next) : .end
        case .cursor:
            guard let cursor = page.next, !cursor.isNoCursor, .cursor(cursor) != position else { return .end }
            return .cursor(cursor)
        case .items(_, _, let key):
            let id = page.content.lazy.reversed().compactMap { key.item(in: $0)?.value }.first
            guard let id, .before(id) != position else { return .end }
            return .before(id)
        case .link(let relation): return try follow(page.links[relation], from: page, at: position)
        case .nextURL:
            guard case .string(let url)? = page.next, !url.isEmpty else { return .end }
            return try follow(page.resolved(url), from: page, at: position)
        }
    }

    /// Whether there are more items after the first `count` items of a list.
    private func hasMore(after page: Page, count: Int) -> Bool {
        if page.content.isEmpty { return false }
        if let total = page.total { return count < total }
        return page.isLast == false || limit.map { page.content.count >= $0 } ?? true
    }

    private func follow(_ url: String?, from page: Page, at position: PagePosition) throws(PagingError) -> PagePosition
    {
        guard let url, .url(url) != position, url != page.url else { return .end }
        guard page.isOfSameOrigin(url) else { throw .otherOrigin }
        return .url(url)
    }
}

extension PagingError {
    static let otherOrigin = PagingError(
        .otherOrigin,
        "the next page has another origin, which would receive the credentials: load it with its own request"
    )
}

extension JSONValue {
    fileprivate var isNoCursor: Bool { self == .null || self == .bool(false) || self == .string("") }
}

extension Paging {
    /// Checks that the URL of a page has the origin of the list.
    ///
    /// - Throws: ``PagingError`` `otherOrigin`.
    package func checkOrigin(of url: String, list: String) throws(PagingError) {
        guard let own = try? RequestURL(parsing: list), own.isOfSameOrigin(url) else { throw .otherOrigin }
    }

    /// Whether the position of a page is a number. The response of a server that ignores it does not show that.
    package var isCounted: Bool {
        switch scheme {
        case .offset, .number: true
        case .whole, .cursor, .items, .link, .nextURL: false
        }
    }

    /// The path of the id by which newer items are requested; `nil` if the scheme does not support that.
    package var newerKey: JSONMemberPath? {
        if case .items(_, .some, let key) = scheme { key } else { nil }
    }

    /// Returns the position of the next page after items before it were removed. Items that moved up are requested
    /// again, and merge with those already loaded.
    package func position(_ position: PagePosition, withoutItems count: Int) -> PagePosition {
        guard count > 0 else { return position }
        switch position {
        case .offset(let offset): return .offset(max(offset - count, 0))
        case .number(let number, let items):
            guard case .number(let first, _) = scheme, number > first else { return position }
            let size = max(items / (number - first), 1)
            let pages = min((count - 1) / size + 1, number - first)
            return .number(number - pages, after: max(items - pages * size, 0))
        default: return position
        }
    }
}
