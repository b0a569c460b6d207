import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A paging scheme") struct PagingTests {
    private static func items(_ count: Int) -> [JSONValue] { (0..<count).map { ["id": JSONValue($0 + 1)] } }

    struct Step: Sendable, CustomTestStringConvertible {
        let paging: Paging
        let position: PagePosition
        let page: Page
        let next: PagePosition
        let testDescription: String

        init(
            _ name: String, _ paging: Paging, _ page: Page, _ next: PagePosition, at position: PagePosition = .start
        ) {
            (testDescription, self.paging, self.position, self.page, self.next) = (name, paging, position, page, next)
        }
    }

    static let steps: [Step] = [
        Step("whole", .whole, Page(items: items(3)), .end),
        Step("a full page by offset", .offset(limit: 3), Page(items: items(3)), .offset(3)),
        Step("the next one", .offset(limit: 3), Page(items: items(3)), .offset(6), at: .offset(3)),
        Step("a short page", .offset(limit: 3), Page(items: items(2)), .end, at: .offset(3)),
        Step(
            "a short page of a server with a lower limit", .offset(limit: 3), Page(items: items(2), total: 9),
            .offset(2)),
        Step("the total is reached", .offset(limit: 3), Page(items: items(3), total: 6), .end, at: .offset(3)),
        Step("an empty page, whatever the total says", .offset(limit: 3), Page(items: [], total: 9), .end),
        Step("the server says that it is the last", .offset(limit: 3), Page(items: items(3), isLast: true), .end),
        Step("the server says that there is more", .offset(limit: 3), Page(items: items(2), isLast: false), .offset(2)),
        Step("a numbered page", .page(size: 3), Page(items: items(3)), .number(2, after: 3)),
        Step("numbers from 0", .page(size: 3, first: 0), Page(items: items(3)), .number(1, after: 3)),
        Step("a short numbered page", .page(size: 3), Page(items: items(1)), .end, at: .number(4, after: 9)),
        Step(
            "a numbered page that reaches the total", .page(size: 3), Page(items: items(3), total: 6), .end,
            at: .number(2, after: 3)),
        Step(
            "a page of a server with a lower limit than was asked for", .page(size: 100),
            Page(items: items(30), total: 90),
            .number(3, after: 60), at: .number(2, after: 30)),
        Step(
            "its last page", .page(size: 100), Page(items: items(30), total: 90), .end, at: .number(3, after: 60)),
        Step("a last item without its id", .items(), Page(items: items(2) + [["no": 1]]), .before(2)),
        Step("a cursor", .cursor(), Page(items: items(3), next: "b"), .cursor("b")),
        Step("a cursor that is a number", .cursor(), Page(items: items(3), next: 7), .cursor(7)),
        Step("no cursor", .cursor(), Page(items: items(3)), .end, at: .cursor("b")),
        Step("a cursor that is null", .cursor(), Page(items: items(3), next: .null), .end, at: .cursor("b")),
        Step("a cursor that is empty", .cursor(), Page(items: items(3), next: ""), .end, at: .cursor("b")),
        Step("the same cursor again", .cursor(), Page(items: items(3), next: "b"), .end, at: .cursor("b")),
        Step("an empty page with a cursor", .cursor(), Page(items: [], next: "c"), .cursor("c"), at: .cursor("b")),
        Step("by the last item", .items(), Page(items: items(3)), .before(3)),
        Step("an empty page by items", .items(), Page(items: []), .end, at: .before(3)),
        Step("the last item again", .items(), Page(items: items(3)), .end, at: .before(3)),
        Step("no link", .link(), Page(items: items(3)), .end),
        Step("no URL", .nextURL(), Page(items: items(3)), .end),
    ]

    @Test(arguments: steps) func `a page determines the position of the next page`(_ step: Step) throws {
        #expect(try step.paging.position(after: step.page, at: step.position) == step.next)
    }

    private func page(_ body: String, link: String? = nil, _ format: PageFormat) throws -> Page {
        var headers: HTTPFields = [.contentType: "application/json"]
        if let link { headers[try #require(HTTPField.Name("Link"))] = link }
        headers[try #require(HTTPField.Name("X-Total-Count"))] = "70"
        return try format.page(
            of: Response(status: .ok, headers: headers, body: Data(body.utf8), url: "https://api.example.com/a?page=1"))
    }

    @Test(arguments: [
        ("</a?page=2>; rel=next", PagePosition.url("https://api.example.com/a?page=2")),
        ("<https://api.example.com:443/a?page=2>; rel=next", .url("https://api.example.com:443/a?page=2")),
        ("</a?page=1>; rel=next", .end),
        ("</a?page=2>; rel=prev", .end),
    ]) func `a Link field determines the next page at the same origin`(_ link: String, _ next: PagePosition) throws {
        #expect(try Paging.link().position(after: page("[]", link: link, PageFormat()), at: .start) == next)
    }

    @Test(arguments: [
        "https://evil.example/a", "http://api.example.com/a", "https://api.example.com:8443/a",
        "//evil.example/a", "https://u:p@api.example.com/a",
    ]) func `a next page at another origin is refused, because it would receive the request's values`(
        _ url: String
    ) throws {
        let byLink = try page("[]", link: "<\(url)>; rel=next", PageFormat())
        let byBody = try page(#"{"items":[],"next":"\#(url)"}"#, PageFormat(items: "items", next: "next"))
        for (paging, page) in [(Paging.link(), byLink), (Paging.nextURL(), byBody)] {
            let error = #expect(throws: PagingError.self) { try paging.position(after: page, at: .start) }
            #expect(error?.code == .otherOrigin)
            #expect(error?.description.contains("evil") == false)
        }
    }

    @Test func `a page format locates the items, the total and the next page in a body`() throws {
        let body = #"{"meta":{"total":"12","next":"c"},"data":{"items":[1,2]}}"#
        let format = PageFormat(items: ["data", "items"], total: ["meta", "total"], next: ["meta", "next"])
        let page = try page(body, format)
        #expect(page.items == [1, 2])
        #expect(page.total == 12)
        #expect(page.next == "c")
        #expect(try self.page("[1]", PageFormat(totalField: "X-Total-Count")).total == 70)
    }

    @Test(arguments: ["{}", #"{"items":{}}"#, "7", "", "{", #"{"items":null}"#])
    func `a body without a list is an error that says what to do`(_ body: String) {
        for format in [PageFormat(), PageFormat(items: "items")] {
            let error = #expect(throws: PagingError.self) { try page(body, format) }
            #expect(error?.code == .noItems)
        }
    }

    /// The scheme, the position, and the URL that is sent for it.
    static let requests: [(Paging, PagePosition, String?)] = [
        (.whole, .start, "a?q=1"),
        (.offset(limit: 50), .start, "a?q=1&limit=50"),
        (.offset(limit: 50), .offset(50), "a?q=1&limit=50&offset=50"),
        (.page(size: 20), .start, "a?q=1&per_page=20&page=1"),
        (.page(size: 20, parameter: "p", sizeParameter: nil), .number(3, after: 40), "a?q=1&p=3"),
        (.cursor(limit: 5), .cursor("x"), "a?q=1&limit=5&cursor=x"),
        (.items(limit: 5), .before(12), "a?q=1&limit=5&max_id=12"),
        (.link(), .url("https://api.example.com/a?page=2"), "https://api.example.com/a?page=2"),
        (.offset(limit: 50), .end, nil),
    ]

    @Test(arguments: requests)
    func `a position determines its page's request`(_ paging: Paging, _ position: PagePosition, _ url: String?) throws {
        let request = try paging.request(Request("a", parameters: ["q": 1]), at: position)
        let items = request?.parameters.map { "\($0.name)=\($0.value.text)" }.joined(separator: "&") ?? ""
        #expect(request.map { $0.url + (items.isEmpty ? "" : "?" + items) } == url)
    }

    @Test func `newer items are requested if the scheme supports it`() {
        let request = Paging.items(after: "since_id", limit: 5).request(Request("a"), newerThan: 12)
        #expect(request?.parameters["since_id"] == 12)
        #expect(Paging.offset(limit: 5).request(Request("a"), newerThan: 12) == nil)
    }

    @Test func `a position of another scheme is refused`() {
        let error = #expect(throws: PagingError.self) {
            try Paging.cursor().request(Request("a"), at: .offset(4))
        }
        #expect(error?.code == .otherScheme)
    }

    @Test(arguments: [
        PagePosition.start, .offset(3), .number(2, after: 5), .cursor("b"), .before(7), .url("https://a.example/"),
        .end,
    ]) func `a position can be encoded and decoded`(_ position: PagePosition) throws {
        #expect(try JSONDecoder().decode(PagePosition.self, from: JSONEncoder().encode(position)) == position)
    }
}

extension JSONValue {
    fileprivate var text: String { if case .string(let text) = self { text } else { description } }
}
