import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private struct List: Codable, Hashable, Sendable {
    var items: [Int]
    var next: String?
    var total: Int?
}

private struct Numbers: Endpoint {
    typealias Output = List
    var order = "up"
    var path = "numbers"

    var request: Request {
        var request = Request(path, parameters: ["order": order])
        request.cacheKey = "numbers"
        return request
    }
}

@Suite("Pages of a list", .limit(minutes: 5)) struct EnginePagesTests {
    private static let base = "https://api.test/v1/"

    private func engine(_ transport: StubTransport) -> Engine {
        var configuration = Engine.Configuration(testing: transport)
        configuration.baseURL = Self.base
        return Engine(configuration)
    }

    /// Returns three of the numbers below 7, selected by cursor, offset or page number.
    private static func page(_ request: TransportRequest) -> TransportResponse {
        let items = URLComponents(string: request.url)?.queryItems ?? []
        func number(_ name: String) -> Int? { items.first { $0.name == name }?.value.flatMap { Int($0) } }
        let start = number("cursor") ?? number("offset") ?? number("page").map { ($0 - 1) * 3 } ?? 0
        let numbers = Array(start..<min(start + 3, 7))
        let next = start + 3 < 7 ? start + 3 : nil
        let isByURL = request.url.contains("by-url")
        let list = List(
            items: numbers, next: next.map { isByURL ? "?order=up&cursor=\($0)" : "\($0)" }, total: 7)
        let link = next.map { "</v1/numbers?order=up&cursor=\($0)>; rel=\"next\"" } ?? "</v1/numbers>; rel=first"
        return .stub(headers: [.link: link], body: (try? JSONEncoder().encode(list)) ?? Data())
    }

    private static let server: @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse = {
        request throws(TransportError) in page(request)
    }

    private static let rules: [(NextPage<List>, [String])] = [
        (.link, ["order=up", "order=up&cursor=3", "order=up&cursor=6"]),
        (.link(relation: "NEXT"), ["order=up", "order=up&cursor=3", "order=up&cursor=6"]),
        (.cursor(\.next), ["order=up", "order=up&cursor=3", "order=up&cursor=6"]),
        (.cursor { $0.next.flatMap { Int($0) } }, ["order=up", "order=up&cursor=3", "order=up&cursor=6"]),
        (
            .offset(limit: 3, count: \.items.count),
            ["order=up&limit=3", "order=up&limit=3&offset=3", "order=up&limit=3&offset=6"]
        ),
        (
            .page(size: 3, count: \.items.count),
            ["order=up&per_page=3&page=1", "order=up&per_page=3&page=2", "order=up&per_page=3&page=3"]
        ),
        (
            .page(size: 100, sizeParameter: nil, total: \.total, count: \.items.count),
            ["order=up&page=1", "order=up&page=2", "order=up&page=3"]
        ),
        (
            NextPage(.cursor()) { Page(items: [], next: $0.value.next.map { .string($0) }) },
            ["order=up", "order=up&cursor=3", "order=up&cursor=6"]
        ),
    ]

    @Test(arguments: rules.indices) func `a list is requested page by page by every rule, and repeatedly`(index: Int)
        async throws
    {
        let (rule, queries) = Self.rules[index]
        let transport = StubTransport(Self.server)
        let pages = engine(transport).pages(Numbers(), next: rule)
        for _ in 1...2 {
            var items: [[Int]] = []
            var isLast: [Bool] = []
            for try await page in pages {
                items.append(page.value.items)
                isLast.append(page.isLast)
            }
            #expect(items == [[0, 1, 2], [3, 4, 5], [6]] && isLast == [false, false, true])
        }
        #expect(transport.requests.map(\.url) == (queries + queries).map { "\(Self.base)numbers?\($0)" })
    }

    @Test func `a list is requested by relative URLs in its body`() async throws {
        let transport = StubTransport(Self.server)
        var items: [Int] = []
        for try await page in engine(transport).pages(Numbers(path: "by-url"), next: .url(\.next)) {
            items += page.value.items
        }
        #expect(items == Array(0..<7) && transport.requests.last?.url == "\(Self.base)by-url?order=up&cursor=6")
    }

    @Test func `a page has its response, its position and the next, from which the list continues`() async throws {
        let engine = engine(StubTransport(Self.server))
        var iterator = engine.pages(Numbers(), next: .link).makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(first.response.status == .ok && first.response.headers.links.map(\.relations) == [["next"]])
        #expect(first.position == .start && first.next == iterator.position)
        let saved = try JSONDecoder().decode(PagePosition.self, from: try JSONEncoder().encode(first.next))
        var rest: [Int] = []
        for try await page in engine.pages(Numbers(), next: .link, from: saved) { rest += page.value.items }
        #expect(rest == [3, 4, 5, 6])
        while try await iterator.next() != nil {}
        #expect(iterator.position == .end)
        #expect(try await iterator.next() == nil)
    }

    @Test func `a page that fails is requested again by the same iterator`() async throws {
        let count = Guarded(0)
        let transport = StubTransport { request throws(TransportError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 2 ? .stub(status: 500) : Self.page(request)
        }
        var iterator = engine(transport).pages(Numbers(), next: .cursor(\.next)).makeAsyncIterator()
        #expect(try await iterator.next()?.value.items == [0, 1, 2])
        do throws(ConnectionError) {
            _ = try await iterator.next()
            Issue.record("no error")
        } catch {
            #expect(error.code == .badStatus)
        }
        #expect(try await iterator.next()?.value.items == [3, 4, 5])
    }

    @Test func `a server that refers to an earlier page has no further page`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            let cursor = request.url.hasSuffix("cursor=b") ? "c" : "b"
            return .stub(body: #"{"items": [1], "next": "\#(cursor)"}"#)
        }
        var count = 0
        for try await page in engine(transport).pages(Numbers(), next: .cursor(\.next)) {
            count += 1
            if count == 3 { #expect(page.next == .end) }
        }
        #expect(count == 3)
    }

    private static let counted: [NextPage<List>] = [
        .page(size: 3, count: \.items.count), .offset(limit: 3, count: \.items.count),
        .page(size: 3, total: { _ in 1_000 }, count: \.items.count),
        NextPage(.page(size: 3)) { Page(items: $0.value.items.map { JSONValue($0) }) },
    ]

    @Test(arguments: counted.indices, [false, true])
    func `a server that ignores the position of a counted page ends the list`(rule: Int, isTimed: Bool) async throws {
        let count = Guarded(0)
        let transport = StubTransport { _ throws(TransportError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .stub(body: #"{"items": [0, 1, 2], "time": \#(isTimed ? number : 0)}"#)
        }
        var pages = engine(transport).pages(Numbers(), next: Self.counted[rule]).makeAsyncIterator()
        var items: [[Int]] = []
        while let page = try await pages.next(), items.count < 20 { items.append(page.value.items) }
        #expect(items == [[0, 1, 2], [0, 1, 2]] && pages.position == .end && transport.requests.count == 3)
    }

    @Test func `a server that repeats its last page ends the list, and one that repeats a page once does not`()
        async throws
    {
        let bodies = [[0, 1, 2], [0, 1, 2], [3, 4, 5], [6, 7, 8], [6, 7, 8], [6, 7, 8]]
        let count = Guarded(0)
        let transport = StubTransport { _ throws(TransportError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .stub(body: #"{"items": \#(bodies[min(number, bodies.count) - 1])}"#)
        }
        var items: [[Int]] = []
        for try await page in engine(transport).pages(Numbers(), next: Self.counted[0]) {
            items.append(page.value.items)
        }
        #expect(items == Array(bodies.dropLast()) && transport.requests.count == 6)
    }

    @Test(arguments: ["https://evil.test/numbers", "//evil.test/", "http://api.test/v1/numbers"])
    func `a next page at another origin is an error, because it would receive the credentials`(url: String) async {
        let transport = StubTransport(headers: [.link: "<\(url)>; rel=next"], body: #"{"items": []}"#)
        let engine = engine(transport)
        var pages = engine.pages(Numbers(), next: .link).makeAsyncIterator()
        do throws(ConnectionError) {
            _ = try await pages.next()
            Issue.record("no error")
        } catch {
            #expect(error.code == .badResponse && (error.cause as? PagingError)?.code == .otherOrigin)
            #expect(error.response?.status == .ok && !error.message.contains("evil"))
        }
    }

    @Test(arguments: [
        (PagePosition.url("https://evil.test/"), PagingError.Code.otherOrigin), (.offset(3), .otherScheme),
    ]) func `a position that does not belong to the list is an error, and nothing is sent`(
        position: PagePosition,
        code: PagingError.Code
    ) async {
        let transport = StubTransport(Self.server)
        var pages = engine(transport).pages(Numbers(), next: .link, from: position).makeAsyncIterator()
        do throws(ConnectionError) {
            _ = try await pages.next()
            Issue.record("no error")
        } catch {
            #expect(error.code == .badRequest && (error.cause as? PagingError)?.code == code)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `a list of a real server is requested page by page, by links and by numbers`() async throws {
        struct City: Decodable, Sendable { let id: Int }
        struct Cities: Decodable, Sendable { let items: [City] }
        var configuration = Engine.Configuration(store: nil)
        configuration.baseURL = try await SampleServer.shared.base + "/"
        let engine = Engine(configuration)
        let call = Request("cities", parameters: ["country": "DE", "perPage": 20]).decoding(Cities.self)
        var lists: [[Int]] = []
        let rules: [NextPage<Cities>] = [.link, .page(size: 20, sizeParameter: "perPage", count: \.items.count)]
        for rule in rules {
            var ids: [Int] = []
            for try await page in engine.pages(call, next: rule) {
                ids += page.value.items.map(\.id)
                if ids.count >= 60 { break }
            }
            lists.append(ids)
        }
        #expect(lists[0].count >= 60 && Set(lists[0]).count == lists[0].count && lists[0] == lists[1])
        await engine.close()
    }
}
