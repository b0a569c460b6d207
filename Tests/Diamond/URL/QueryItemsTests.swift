import Testing

@testable import Diamond

@Suite struct `The items of a query` {
    private func sorted(_ items: QueryItems) -> [String] {
        var texts: [String] = []
        items.withSortedPlaces { places in
            texts = places.map { String(decoding: items.bytes[$0.range], as: UTF8.self) }
        }
        return texts
    }

    @Test(
        arguments: [
            ("http://h/", []),
            ("http://h/?", [""]),
            ("http://h/?&", ["", ""]),
            ("http://h/?b=1&a=2&b=0&a", ["a=2", "a", "b=1", "b=0"]),
            ("http://h/?aaaaaaaab&aaaaaaaa=&aaaaaaaaa", ["aaaaaaaa=", "aaaaaaaaa", "aaaaaaaab"]),
            ("http://h/?a=b=c&%5B%61=%41%2c&[a=+", ["%5Ba=A%2C", "%5Ba=+", "a=b=c"]),
        ] as [(String, [String])])
    func `are sorted by name and keep the order of their values`(url: String, texts: [String]) throws {
        let items = try RequestURL(url).queryItems()
        #expect(items.count == texts.count)
        #expect(sorted(items) == texts)
        #expect(items.items.map { String(decoding: $0.text, as: UTF8.self) }.sorted() == texts.sorted())
    }

    @Test func `are as many as they like`() throws {
        let names = (0..<1000).map { "a\($0 * 7919 % 1000)" }
        let items = try RequestURL("http://h/?" + names.joined(separator: "&")).queryItems()
        #expect(sorted(items) == names.sorted())
    }

    @Test func `are put behind others, and taken apart again`() throws {
        let first = try RequestURL("http://h/?a=1").queryItems()
        for query in ["", "?", "?b&c="] {
            let second = try RequestURL("http://h/\(query)").queryItems()
            var both = first
            both.append(contentsOf: second)
            #expect(both.count == 1 + second.count)
            #expect(both.dropping(first) == second)
            #expect(both.dropping(QueryItems()) == both)
        }
    }
}
