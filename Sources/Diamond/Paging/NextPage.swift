/// The rule that finds the next page of a list, for ``Engine/pages(_:next:from:)``.
///
/// | rule | the next page is named by |
/// |---|---|
/// | ``link``, ``link(relation:)`` | the `Link` field of the response (RFC 8288) |
/// | ``url(_:)`` | a URL in the output |
/// | ``cursor(_:parameter:)`` | a cursor in the output |
/// | ``offset(limit:parameter:limitParameter:total:count:)`` | the number of items received so far |
/// | ``page(size:first:parameter:sizeParameter:total:count:)`` | the number of the page |
///
/// For any other API, create a rule from a ``Paging`` with ``init(_:page:)``.
public struct NextPage<Output: Sendable>: Sendable {
    let paging: Paging
    private let read: @Sendable (TypedResponse<Output>) throws -> Page

    /// Creates a rule from a paging scheme.
    ///
    /// - Parameters:
    ///   - paging: the scheme, which makes the requests of the pages.
    ///   - page: reads what the scheme needs from a response, for example with ``PageFormat/page(of:)``.
    public init(_ paging: Paging, page: @escaping @Sendable (TypedResponse<Output>) throws -> Page) {
        self.paging = paging
        read = page
    }

    /// The rule of the link `next` of the response.
    public static var link: NextPage { link(relation: "next") }

    /// Returns the rule of a link of the response. A page without the link is the last.
    ///
    /// The link must have the origin of the request, because the credentials are sent there.
    public static func link(relation: String) -> NextPage { NextPage(.link(relation)) { _ in Page(items: []) } }

    /// Returns the rule of a URL in the output. The URL is absolute, or relative to that of the response. A page
    /// without a URL is the last.
    ///
    /// The URL must have the origin of the request, because the credentials are sent there.
    public static func url(_ url: @escaping @Sendable (Output) -> String?) -> NextPage {
        NextPage(.nextURL()) { response in Page(items: [], next: url(response.value).map { .string($0) }) }
    }

    /// Returns the rule of a cursor in the output, which is sent as a parameter of the next request. A page without a
    /// cursor, or with an empty one, is the last.
    public static func cursor(
        _ cursor: @escaping @Sendable (Output) -> (any ParameterConvertible)?,
        parameter: String = "cursor"
    ) -> NextPage {
        NextPage(.cursor(parameter)) { response in
            Page(items: [], next: cursor(response.value)?.parameterValue)
        }
    }

    /// Returns the rule of offsets, the number of preceding items: `?offset=100&limit=50`. A page with fewer items than
    /// the limit is the last, unless the total is larger.
    ///
    /// - Parameters:
    ///   - limit: the number of requested items.
    ///   - parameter: the name of the parameter for the offset.
    ///   - limitParameter: the name of the parameter for the limit.
    ///   - total: the number of items of the whole list; `nil` if the API does not tell.
    ///   - count: the number of items of a page.
    public static func offset(
        limit: Int,
        parameter: String = "offset",
        limitParameter: String = "limit",
        total: @escaping @Sendable (Output) -> Int? = { _ in nil },
        count: @escaping @Sendable (Output) -> Int
    ) -> NextPage {
        NextPage(.offset(limit: limit, parameter: parameter, limitParameter: limitParameter)) { response in
            Page(count: count(response.value), total: total(response.value))
        }
    }

    /// Returns the rule of page numbers: `?page=2&per_page=50`. A page with fewer items than its size is the last,
    /// unless the total is larger than the number of received items.
    ///
    /// - Parameters:
    ///   - size: the number of items of a page.
    ///   - first: the number of the first page.
    ///   - parameter: the name of the parameter for the number.
    ///   - sizeParameter: the name of the parameter for the size; `nil` does not send it.
    ///   - total: the number of items of the whole list; `nil` if the API does not tell.
    ///   - count: the number of items of a page.
    public static func page(
        size: Int,
        first: Int = 1,
        parameter: String = "page",
        sizeParameter: String? = "per_page",
        total: @escaping @Sendable (Output) -> Int? = { _ in nil },
        count: @escaping @Sendable (Output) -> Int
    ) -> NextPage {
        let paging = Paging.page(size: size, first: first, parameter: parameter, sizeParameter: sizeParameter)
        return NextPage(paging) { response in Page(count: count(response.value), total: total(response.value)) }
    }

    /// Returns the position after a page.
    ///
    /// - Parameter url: the absolute URL that the request was sent to.
    func position(
        after response: TypedResponse<Output>,
        to request: Request,
        at url: String,
        from position: PagePosition
    ) throws -> PagePosition {
        var page = try read(response)
        page.addLinks(of: response.response)
        page.sent = Page.SentRequest(request, url: url)
        return try paging.position(after: page, at: position)
    }
}

/// A page of a typed call: its output, and the positions of it and of the next one.
public struct TypedPage<Value: Sendable>: Sendable {
    /// The response of the page.
    public let response: TypedResponse<Value>
    /// The position of the page.
    public let position: PagePosition
    /// The position of the next page; `end` after the last one. Store it to continue the list later, also in another
    /// process.
    public internal(set) var next: PagePosition

    /// Whether the list has no page after this one.
    public var isLast: Bool { next == .end }

    /// The decoded output.
    public var value: Value { response.value }
}
