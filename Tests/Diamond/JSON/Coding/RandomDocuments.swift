import DiamondTestSupport

@testable import Diamond

/// Documents like given ones, with values, names and bytes changed at random.
struct RandomDocuments {
    private static let values = [
        "null", "true", "0", "-0", "0e5", "1", "-1", "1.0", "1.5", "1e2", "1E-2", "300", "9007199254740993", "1e400",
        "1e-400", "-9223372036854775809", "9223372036854775808.0", "18446744073709551616", "3.4e39",
        "0.1234567890123456789012345",
        "\"\"", "\"a\"", "\"+\"", "\"\\u002b\"", "\"red\"", "\"2026-01-02T03:04:05Z\"", "\"AQID\"", "\"AQ I=\"",
        "\"\\ud800\"", "\"\\u0000\"", "\"https://h\"", "\"h h\"", "[]", "{}", "[1,\"x\",null]", "{\"a\":1,\"a\":2}",
    ]
    private static let names = [
        "a", "id", "name", "first_name", "firstName", "is_active", "isActive", "_note_", "_2fa", "a__b", "__", "é",
        "e\u{301}", "\u{212A}", "\\u0061", "\\ud800", "super", "extra", "count", "1", "",
    ]

    private var random: SplitMix
    private let models: [[UInt8]]

    init(like texts: [String], seed: UInt64 = Effort.seed) {
        random = SplitMix(state: seed)
        models = texts.map { Array($0.utf8) }
    }

    mutating func next() -> [UInt8] {
        var text = models[random.below(models.count)]
        for _ in 0...random.below(3) { change(&text) }
        return text
    }

    private mutating func change(_ text: inout [UInt8]) {
        let places = Places(in: text)
        switch random.below(10) {
        case 0...5:
            guard let range = pick(places.values) else { return }
            text.replaceSubrange(range, with: pick(Self.values)?.utf8 ?? "0".utf8)
        case 6, 7:
            guard let place = pick(places.members) else { return }
            let name = random.below(2) == 0 ? pick(places.names) : pick(Self.names)
            text.insert(contentsOf: "\"\(name ?? "")\":\(pick(Self.values) ?? "0"),".utf8, at: place)
        case 8:
            guard let range = pick(places.members) else { return }
            text.insert(contentsOf: (0..<20).map { "\"n\($0)\":\($0)," }.joined().utf8, at: range)
        default: text[random.below(text.count)] = UInt8(truncatingIfNeeded: random.next())
        }
    }

    private mutating func pick<Item>(_ items: [Item]) -> Item? {
        items.isEmpty ? nil : items[random.below(items.count)]
    }
}

/// The places of a text that can be changed; none of a text that is not JSON.
private struct Places {
    var values: [Range<Int>] = []
    /// The first members of objects.
    var members: [Int] = []
    var names: [String] = []

    init(in text: [UInt8]) {
        text.withUnsafeBytes { bytes in
            guard let tape = try? JSONTape(scanning: bytes, ambiguities: .ignored) else { return }
            withExtendedLifetime(tape) { add(tape.root) }
        }
    }

    private mutating func add(_ element: JSONElement) {
        let quote = element.kind == .string ? 1 : 0
        values.append(element.range.lowerBound - quote..<element.range.upperBound + quote)
        for element in element.elements { add(element) }
        for (name, value) in element.members {
            if members.last.map({ $0 <= element.range.lowerBound }) ?? true {
                members.append(name.range.lowerBound - 1)
            }
            names.append(String(decoding: name.text, as: UTF8.self))
            add(value)
        }
    }
}
