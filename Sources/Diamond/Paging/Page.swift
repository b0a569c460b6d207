import HTTPTypes

/// A page of a list: its items, and what the answer says of the rest.
public struct Page: Hashable, Sendable {
    /// The items, in the server's order.
    public var items: [JSONValue]
    /// The number of items of the whole list; `nil` where it is not known.
    public var total: Int?
    /// The cursor or URL of the next page, as the body has it.
    public var next: JSONValue?
    /// Whether this is the last page; `nil` leaves it to the ``Paging``.
    public var isLast: Bool?
    /// The targets of the answer's `Link` fields by their relations.
    public var links: [String: String] = [:]
    /// The URL that answered; empty for a page that no request has brought.
    public var url = ""
    /// The seconds since the server has made the answer, where that is told (`Age`); 0 else.
    public var age = 0
    /// The request that has brought the page, and the absolute URL that it was sent to.
    package var request: (request: Request, url: String)? {
        get { requestAndURL.map { ($0.request, $0.url) } }
        set { requestAndURL = newValue.map { RequestAndURL(request: $0.request, url: $0.url) } }
    }
    private var requestAndURL: RequestAndURL?
    /// Whether the items are only those that are newer than others.
    package var hasOnlyNewer = false

    private struct RequestAndURL: Hashable {
        let request: Request
        let url: String
    }

    /// Creates a page that is there already, as of a database.
    public init(items: [JSONValue], total: Int? = nil, next: JSONValue? = nil, isLast: Bool? = nil) {
        self.items = items
        self.total = total
        self.next = next
        self.isLast = isLast
    }

    func resolved(_ reference: String) -> String? { try? RequestURL.resolve(reference, against: url) }

    /// Whether a URL is of the origin that the request was sent to: behind a redirect the answer may be another's.
    func isOfSameOrigin(_ other: String) -> Bool {
        guard let own = try? RequestURL(parsing: requestAndURL?.url ?? url) else { return false }
        return own.isOfSameOrigin(other)
    }
}

extension RequestURL {
    func isOfSameOrigin(_ other: String) -> Bool {
        guard let other = try? RequestURL(parsing: other) else { return false }
        return origin == other.origin && other.userInfo == nil
    }
}

/// The places of a list in a response: where its items stand, the total, and what leads to the next page.
public struct PageFormat: Hashable, Sendable {
    /// The place of the array of items; `nil` where the body is the array.
    public var items: JSONPlace?
    /// The place of the total in the body.
    public var total: JSONPlace?
    /// The field that has the total, such as `X-Total-Count`.
    public var totalField: String?
    /// The place of the next page's cursor or URL in the body.
    public var next: JSONPlace?

    public init(
        items: JSONPlace? = nil, total: JSONPlace? = nil, totalField: String? = nil, next: JSONPlace? = nil
    ) {
        self.items = items
        self.total = total
        self.totalField = totalField
        self.next = next
    }

    /// Reads a page from a response.
    ///
    /// - Throws: ``PagingError`` `noItems` where the body has no array in the place of the items, or is no JSON.
    public func page(of response: Response) throws(PagingError) -> Page {
        let body: JSONValue
        do {
            body = try response.json() ?? .null
        } catch {
            throw PagingError(.noItems, "the body is not JSON: \(error)")
        }
        guard case .array(let values)? = items.map({ $0.value(in: body) }) ?? body else {
            throw PagingError(
                .noItems, "the body has no array \(place): name the place of the items in the page format")
        }
        var page = Page(items: values, total: number(in: body, response), next: next?.value(in: body))
        page.url = response.url
        page.age = response.headers[.age].flatMap { Int($0) } ?? 0
        for link in response.links {
            for relation in link.relations where page.links[relation] == nil { page.links[relation] = link.target }
        }
        return page
    }

    private var place: String { items.map { "at \"\($0)\"" } ?? "at its top" }

    private func number(in body: JSONValue, _ response: Response) -> Int? {
        if let totalField, let name = HTTPField.Name(totalField),
            let total = response.headers[name].flatMap({ Int($0) })
        {
            return max(total, 0)
        }
        switch total?.value(in: body) {
        case .integer(let number)?: return Int(exactly: max(number, 0))
        case .string(let text)?: return Int(text)
        default: return nil
        }
    }
}

/// The place of a value in JSON: the names of the members on the way to it.
///
/// A string literal is one name, an array literal a path: `"items"`, `["response", "items"]`.
public struct JSONPlace: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    public let names: [String]

    public init(_ names: [String]) { self.names = names }
    public init(stringLiteral name: String) { names = [name] }
    public init(arrayLiteral names: String...) { self.names = names }

    /// Returns the value in this place; `nil` where there is none.
    public func value(in json: JSONValue) -> JSONValue? {
        var value = json
        for name in names {
            guard case .object(let members) = value, let member = members[name] else { return nil }
            value = member
        }
        return value
    }
}

extension JSONPlace: CustomStringConvertible {
    public var description: String { names.joined(separator: ".") }
}
