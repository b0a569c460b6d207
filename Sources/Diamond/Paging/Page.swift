import HTTPTypes

/// A page of a list: its items, and the response's information about further pages.
public struct Page: Hashable, Sendable {
    /// The items, in the server's order. Each reading makes the values from the response's text: read them once.
    public var items: [JSONValue] {
        get { content.map(\.value) }
        set { content = newValue.map(JSONItem.value) }
    }
    /// The items, as values or as parts of the response's text.
    package var content: [JSONItem]
    /// The number of items of the whole list; `nil` if it is unknown.
    public var total: Int?
    /// The cursor or URL of the next page from the body.
    public var next: JSONValue?
    /// Whether this is the last page; `nil` lets the ``Paging`` decide.
    public var isLast: Bool?
    /// The targets of the response's `Link` fields by relation.
    package var links: [String: String] = [:]
    /// The URL of the response; empty for a page without a request.
    package var url = ""
    /// The age of the response in seconds (`Age`); 0 if it is unknown.
    package var age = 0
    /// The request of the page; `nil` for a page without a request.
    package var sent: SentRequest?
    /// Whether the page contains only the items newer than those already loaded.
    package var hasOnlyNewer = false

    /// A request, and the absolute URL that it was sent to.
    package struct SentRequest: Hashable, Sendable {
        package let request: Request
        package let url: String

        package init(_ request: Request, url: String) {
            self.request = request
            self.url = url
        }
    }

    /// Creates a page without a request, for example from a database.
    public init(items: [JSONValue], total: Int? = nil, next: JSONValue? = nil, isLast: Bool? = nil) {
        self.init(content: items.map(JSONItem.value), total: total, next: next)
        self.isLast = isLast
    }

    fileprivate init(content: [JSONItem], total: Int?, next: JSONValue?) {
        self.content = content
        self.total = total
        self.next = next
    }

    /// Creates a page whose items are only counted.
    init(count: Int, total: Int?) {
        self.init(items: Array(repeating: .null, count: max(count, 0)), total: total)
    }

    /// Sets the links and the URL of the response.
    mutating func addLinks(of response: Response) {
        url = response.url
        for link in response.links {
            for relation in link.relations where links[relation] == nil { links[relation] = link.target }
        }
    }

    func resolved(_ reference: String) -> String? { try? RequestURL.resolve(reference, against: url) }

    /// Whether a URL has the origin that the request was sent to. After a redirect the response may have another
    /// origin.
    func isOfSameOrigin(_ other: String) -> Bool {
        guard let own = try? RequestURL(parsing: sent?.url ?? url) else { return false }
        return own.isOfSameOrigin(other)
    }
}

extension RequestURL {
    func isOfSameOrigin(_ other: String) -> Bool {
        guard let other = try? RequestURL(parsing: other) else { return false }
        return origin == other.origin && other.userInfo == nil
    }
}

/// The format of a page: the paths of the items, the total and the next page in a response.
public struct PageFormat: Hashable, Sendable {
    /// The path of the array of items; `nil` if the body is the array.
    public var items: JSONMemberPath?
    /// The path of the total in the body.
    public var total: JSONMemberPath?
    /// The header field with the total, such as `X-Total-Count`.
    public var totalField: String?
    /// The path of the next page's cursor or URL in the body.
    public var next: JSONMemberPath?

    public init(
        items: JSONMemberPath? = nil, total: JSONMemberPath? = nil, totalField: String? = nil,
        next: JSONMemberPath? = nil
    ) {
        self.items = items
        self.total = total
        self.totalField = totalField
        self.next = next
    }

    /// Reads a page from a response.
    ///
    /// - Throws: ``PagingError`` `noItems` if the body is not JSON, or has no array at the path of the items.
    public func page(of response: Response) throws(PagingError) -> Page {
        try page(of: response, isolatesFaults: false)
    }

    /// Reads a page from a response.
    ///
    /// - Parameter isolatesFaults: Whether an item that two readers could read differently is kept as text. Without it,
    ///   the whole page is refused.
    package func page(of response: Response, isolatesFaults: Bool) throws(PagingError) -> Page {
        let body: JSONItem
        do {
            body = try response.item(isolatesFaults: isolatesFaults) ?? .value(.null)
        } catch {
            throw PagingError(.noItems, "the body is not JSON: \(error)")
        }
        if let fault = body.fault {
            throw PagingError(.noItems, "the body is not JSON that all readers read alike: \(fault)")
        }
        guard let items = (items.map { $0.item(in: body) } ?? body)?.elements else {
            throw PagingError(
                .noItems, "the body has no array \(place): set the path of the items in the page format")
        }
        var page = Page(content: items, total: number(in: body, response), next: next?.item(in: body)?.value)
        page.age = response.headers[.age].flatMap { Int($0) } ?? 0
        page.addLinks(of: response)
        return page
    }

    private var place: String { items.map { "at \"\($0.text)\"" } ?? "at its top" }

    private func number(in body: JSONItem, _ response: Response) -> Int? {
        if let totalField, let name = HTTPField.Name(totalField),
            let total = response.headers[name].flatMap({ Int($0) })
        {
            return max(total, 0)
        }
        switch total?.item(in: body)?.value {
        case .integer(let number)?: return Int(exactly: max(number, 0))
        case .string(let text)?: return Int(text)
        default: return nil
        }
    }
}

/// The path of a value in JSON: the names of the nested members.
///
/// A string literal is one name, an array literal a path: `"items"`, `["response", "items"]`.
public struct JSONMemberPath: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    package let names: [String]
    /// The names for messages.
    fileprivate var text: String { names.joined(separator: ".") }

    public init(stringLiteral name: String) { names = [name] }
    public init(arrayLiteral names: String...) { self.names = names }

    /// Returns the value at this path; `nil` if there is none.
    package func value(in json: JSONValue) -> JSONValue? { item(in: .value(json))?.value }

    /// Returns the item at this path; `nil` if there is none.
    package func item(in item: JSONItem) -> JSONItem? {
        var item = item
        for name in names {
            guard let member = item.member(named: name) else { return nil }
            item = member
        }
        return item
    }
}
