/// The scheme by which an API divides a list into pages.
///
/// A scheme makes the request of a page of a position (``request(_:at:)``), and the next position of the page that came
/// (``position(after:at:)``). It is a value without state: a collection, or your own loop, keeps the position.
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
        case items(older: String, newer: String?, key: JSONPlace)
        case link(relation: String)
        case nextURL
    }

    let scheme: Scheme
    /// The items that are asked for; `nil` leaves the number to the server.
    public let limit: Int?
    let limitParameter: String?

    private init(_ scheme: Scheme, limit: Int? = nil, in parameter: String? = nil) {
        self.scheme = scheme
        self.limit = limit.map { max($0, 1) }
        limitParameter = limit == nil ? nil : parameter
    }

    /// One request has the whole list.
    public static let whole = Paging(.whole)

    /// Pages begin at the number of the items before them: `?offset=100&limit=50`.
    ///
    /// The next page begins behind the items that came, also where the server sends fewer than were asked for. A page with
    /// fewer than `limit` is the last, unless the total says that there are more.
    public static func offset(limit: Int, parameter: String = "offset", limitParameter: String = "limit") -> Paging {
        Paging(.offset(parameter: parameter), limit: limit, in: limitParameter)
    }

    /// Pages have numbers: `?page=2&per_page=50`.
    ///
    /// A page with fewer items than `size` is the last, unless the total says that there are more than have come.
    ///
    /// - Parameters:
    ///   - size: the items of a page.
    ///   - first: the number of the first page.
    ///   - parameter: the name of the number's parameter.
    ///   - sizeParameter: the name of the size's parameter; `nil` does not send it.
    public static func page(
        size: Int, first: Int = 1, parameter: String = "page", sizeParameter: String? = "per_page"
    ) -> Paging {
        Paging(.number(first: first, parameter: parameter), limit: size, in: sizeParameter)
    }

    /// Each page has the cursor of the next, in the place that ``PageFormat/next`` names: `?cursor=b2Zmc2V0`.
    ///
    /// A page without a cursor is the last: none, `null`, `false` or empty text. So is one that repeats the cursor that it
    /// was asked for with, which would never end.
    public static func cursor(
        _ parameter: String = "cursor", limit: Int? = nil, limitParameter: String = "limit"
    ) -> Paging {
        Paging(.cursor(parameter: parameter), limit: limit, in: limitParameter)
    }

    /// A page has the items before an item, which is named by its id: `?max_id=1234&limit=50`.
    ///
    /// An empty page is the last, and so is one that ends with the item that it was asked for with: some servers send that
    /// one again.
    ///
    /// - Parameters:
    ///   - older: the parameter with the id of the last item that is there, for more.
    ///   - newer: the parameter with the id of the first item that is there, for a refresh; `nil` refreshes from the start.
    ///   - key: the member of an item that has its id.
    ///   - limit: the items of a page; `nil` leaves it to the server.
    ///   - limitParameter: the name of the limit's parameter.
    public static func items(
        before older: String = "max_id", after newer: String? = nil, key: JSONPlace = "id", limit: Int? = nil,
        limitParameter: String = "limit"
    ) -> Paging {
        Paging(.items(older: older, newer: newer, key: key), limit: limit, in: limitParameter)
    }

    /// The `Link` field names the next page (RFC 8288); one without it is the last.
    ///
    /// The link has to stay at the origin of the request, where its credentials belong.
    public static func link(
        _ relation: String = "next", limit: Int? = nil, limitParameter: String = "per_page"
    ) -> Paging {
        Paging(.link(relation: relation.lowercased()), limit: limit, in: limitParameter)
    }

    /// The body names the URL of the next page, in the place that ``PageFormat/next`` names; one without it is the last.
    ///
    /// The URL has to stay at the origin of the request, where its credentials belong.
    public static func nextURL(limit: Int? = nil, limitParameter: String = "limit") -> Paging {
        Paging(.nextURL, limit: limit, in: limitParameter)
    }
}

// MARK: Requests

extension Paging {
    /// Returns the request of the page at a position; `nil` at the end. It has no cache key of the app's and is not kept for
    /// later: each page is a request of its own.
    ///
    /// - Throws: ``PagingError``: `otherScheme` for a position of another scheme, `otherOrigin` for the URL of a page at
    ///   another origin than an absolute URL of the list.
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
            // The URL has the parameters of the page.
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

    /// Whether a position is one of this scheme.
    package func fits(_ position: PagePosition) -> Bool {
        switch (scheme, position) {
        case (_, .start), (_, .end), (.offset, .offset), (.number, .number), (.cursor, .cursor), (.items, .before),
            (.link, .url), (.nextURL, .url):
            true
        default: false
        }
    }

    /// Returns the request of the items that are newer than the first that is there; `nil` where the scheme has none.
    ///
    /// - Parameters:
    ///   - base: the request of the list.
    ///   - first: the id of the first item that is there.
    ///   - last: the id of the last of the newer items that have come already, where the server did not send all at once.
    public func request(_ base: Request, newerThan first: JSONValue, before last: JSONValue? = nil) -> Request? {
        guard case .items(let older, let newer?, _) = scheme else { return nil }
        var request = page(of: base)
        request.parameters[newer] = first
        if let last { request.parameters[older] = last }
        return request
    }
}

// MARK: Positions

extension Paging {
    /// Returns the position behind a page.
    ///
    /// - Throws: ``PagingError`` `otherOrigin` for a next page at another origin, which would be sent the credentials.
    public func position(after page: Page, at position: PagePosition) throws(PagingError) -> PagePosition {
        if page.isLast == true { return .end }
        switch scheme {
        case .whole: return .end
        case .offset:
            var next = page.items.count
            if case .offset(let offset) = position { next += offset }
            return hasMore(behind: page, next) ? .offset(next) : .end
        case .number(let first, _):
            var (number, next) = (first, page.items.count)
            if case .number(let present, let items) = position { (number, next) = (present, next + items) }
            return hasMore(behind: page, next) ? .number(number + 1, after: next) : .end
        case .cursor:
            guard let cursor = page.next, !cursor.isNoCursor, .cursor(cursor) != position else { return .end }
            return .cursor(cursor)
        case .items(_, _, let key):
            let id = page.items.lazy.reversed().compactMap { key.value(in: $0) }.first
            guard let id, .before(id) != position else { return .end }
            return .before(id)
        case .link(let relation): return try follow(page.links[relation], from: page, at: position)
        case .nextURL:
            guard case .string(let url)? = page.next, !url.isEmpty else { return .end }
            return try follow(page.resolved(url), from: page, at: position)
        }
    }

    /// Whether there is more behind the first `next` items of a list.
    private func hasMore(behind page: Page, _ next: Int) -> Bool {
        if page.items.isEmpty { return false }
        if let total = page.total { return next < total }
        return page.isLast == false || limit.map { page.items.count >= $0 } ?? true
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
        "the next page is at another origin, which would be sent what the request brings: load it by a request of its own"
    )
}

extension JSONValue {
    fileprivate var isNoCursor: Bool { self == .null || self == .bool(false) || self == .string("") }
}

extension Paging {
    /// Refuses the URL of a page at another origin than the list's.
    ///
    /// - Throws: ``PagingError`` `otherOrigin`.
    package func checkOrigin(of url: String, _ list: String) throws(PagingError) {
        guard let own = try? RequestURL(parsing: list), own.isOfSameOrigin(url) else { throw .otherOrigin }
    }

    /// The member of an item by which newer ones are asked for; `nil` where the scheme cannot.
    package var newerKey: JSONPlace? {
        if case .items(_, .some, let key) = scheme { key } else { nil }
    }

    /// The position for the next page, when objects before it were destroyed: rows that have moved up to it are asked for
    /// again, and merge.
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
