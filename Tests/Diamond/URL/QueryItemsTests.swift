import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The items of a query") struct QueryItemsTests {
    private func sorted(_ items: QueryItems) -> [String] {
        var texts: [String] = []
        items.withSortedItems { places in
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

    @Test func `a thousand query items are sorted by name`() throws {
        let names = (0..<1000).map { "a\($0 * 7919 % 1000)" }
        let items = try RequestURL("http://h/?" + names.joined(separator: "&")).queryItems()
        #expect(sorted(items) == names.sorted())
    }

    @Test func `random query items are sorted by name, and items of equal names by position`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(300, soaking: 30_000) {
            let texts = (0..<Int.random(in: 1...40, using: &random)).map { index in
                let name = (0..<Int.random(in: 0...10, using: &random)).map { _ in
                    ["a", "b", "%2C"].randomElement(using: &random) ?? ""
                }
                return name.joined() + (Bool.random(using: &random) ? "=\(index)" : "")
            }
            let items = try RequestURL("http://h/?" + texts.joined(separator: "&")).queryItems()
            let names = texts.map { Array($0.utf8.prefix { $0 != UInt8(ascii: "=") }) }
            let order = texts.indices.sorted { left, right in
                names[left] == names[right] ? left < right : names[left].lexicographicallyPrecedes(names[right])
            }
            #expect(sorted(items) == order.map { texts[$0] }, "seed \(Effort.seed): \(texts)")
        }
    }

    @Test(arguments: [.min, -10, -1, 0, 9, 10, 99, 100, 1_234_567_890, .max] as [Int64])
    func `write integers as decimal digits`(integer: Int64) {
        var items = QueryItems()
        items.append(encoding: "a b", value: integer)
        #expect(items.bytes == Array("a%20b=\(integer)".utf8))
    }

    @Test func `are appended to others, and separated again`() throws {
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
