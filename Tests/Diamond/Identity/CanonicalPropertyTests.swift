import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The canonical form of random requests") struct CanonicalPropertyTests {
    private static let rounds = Effort.rounds(500, soaking: 50_000)

    private static func bytes(_ request: Request) throws -> [UInt8] {
        try CanonicalForm(of: request, rules: CanonicalFormTests.rules).bytes
    }

    @Test func `the canonical form does not depend on an order without meaning`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Self.rounds {
            let facts = Facts.any(using: &random)
            let one = try Self.bytes(facts.request(using: &random))
            #expect(try one == Self.bytes(facts.request(using: &random)), "seed \(Effort.seed): \(facts)")
        }
    }

    @Test func `the canonical form is the same after encoding and decoding`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Self.rounds {
            let request = try Facts.any(using: &random).request(using: &random)
            let again = try Request(json: try request.json())
            #expect(try Self.bytes(request) == Self.bytes(again), "seed \(Effort.seed): \(request)")
        }
    }

    @Test func `the canonical form contains every property of a request`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Self.rounds {
            let facts = Facts.any(using: &random)
            let form = try Self.bytes(facts.request(using: &random))
            #expect(try Facts(decoding: form) == facts.selecting, "seed \(Effort.seed)")
        }
    }

    @Test func `the canonical form is equal exactly for equivalent requests`() throws {
        var random = SplitMix(state: Effort.seed)
        var equal = 0
        for _ in 0..<Self.rounds {
            let one = Facts.any(using: &random)
            var other = one
            for _ in 0..<Int.random(in: 0...2, using: &random) { other.change(using: &random) }
            let forms = try (Self.bytes(one.request(using: &random)), Self.bytes(other.request(using: &random)))
            #expect((forms.0 == forms.1) == (one.selecting == other.selecting), "seed \(Effort.seed): \(one) \(other)")
            equal += forms.0 == forms.1 ? 1 : 0
        }
        #expect(equal > 0 && equal < Self.rounds)
    }

    @Test func `the canonical form changes with any letter of any text of the request`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Self.rounds {
            let text = String.letters(using: &random)
            let changed = text.changingOne(using: &random)
            for place in Self.places {
                let forms = try (Self.bytes(place(text)), Self.bytes(place(changed)))
                #expect(forms.0 != forms.1, "seed \(Effort.seed): \(text) \(changed)")
            }
        }
    }

    /// Requests that contain a text, each at another place.
    private static let places: [@Sendable (String) throws -> Request] = [
        { Request("http://h/\($0)/a") },
        { Request("http://\($0)/") },
        { Request("http://h/?\($0)=1") },
        { Request("http://h/?a=\($0)") },
        { Request("http://h/?token=\($0)") },
        { Request("http://h/", parameters: ["a": JSONValue.array([1, .string($0)])]) },
        { Request("http://h/", headers: [.accept: $0]) },
        { Request("http://h/", headers: [.authorization: "Bearer \($0)"]) },
        { Request("http://\($0)@h/") },
        { Request("http://h/", method: .query, body: .json(["a": [.string($0)]])) },
        { Request("http://h/", method: .query, body: .json([$0: 1])) },
        { Request("http://h/", method: .query, body: .json(["token": .string($0)])) },
        { Request("http://h/", method: .query, body: .form(["a": $0])) },
        { Request("http://h/", method: .query, body: .form(["pwd": $0])) },
        { Request("http://h/", method: .query, body: .bytes(Data($0.utf8))) },
        { Request("http://h/", method: .query, body: .bytes(Data(), contentType: $0)) },
        { Request("http://h/", method: try #require(HTTPRequest.Method("X\($0)"))) },
        { text in changing { $0.identity = text } },
        { text in changing { $0.cacheKey = text } },
        { text in changing { $0.credentials = [.bearer(.secret(text))] } },
        { text in changing { $0.credentials = [.header(.authorization, prefix: text, .secret("a"))] } },
        { text in changing { $0.credentials = [.parameter(text, .secret("a"))] } },
    ]

    private static func changing(_ change: (inout Request) -> Void) -> Request {
        var request = Request("http://h/")
        change(&request)
        return request
    }
}

// MARK: Facts of a request

/// The facts of a request, in types that compare byte by byte and have no order where none counts.
private struct Facts: Hashable {
    struct NamedSecret: Hashable {
        var header, prefix, secret: [UInt8]
    }

    var identity: [UInt8]?
    var cacheKey: [UInt8]?
    var method = Array("GET".utf8)
    var path: [UInt8] = []
    var items: [[UInt8]: [[UInt8]?]] = [:]
    var headers: [[UInt8]: [[UInt8]]] = [:]
    var secrets: Set<NamedSecret> = []
    var body: Value?

    /// The facts that remain if the app's own key replaces the others.
    var selecting: Facts {
        guard cacheKey != nil else { return self }
        var facts = Facts()
        (facts.identity, facts.cacheKey, facts.method, facts.secrets) = (identity, cacheKey, [], secrets)
        return facts
    }
}

extension Facts {
    // Texts that would be read as something else if they were written unchanged.
    private static let texts = [
        "", "a", "b", "A", "a b", "b c", "c", "a=b", "a&b", "a\nquery b", "%0A", "%", "+", "ü", "u\u{308}", "[", "😂",
        "\u{0}",
    ].map { Array($0.utf8) }
    private static let prefixes = ["", "a", "a ", "a b", "a b ", "b", "%20"].map { Array($0.utf8) }
    private static let values = ["", "a", "a b", "x-b a", "A", "a, b", "a\"b=c"].map { Array($0.utf8) }

    static func any(using random: inout SplitMix) -> Facts {
        var facts = Facts()
        for _ in 0..<Int.random(in: 0...8, using: &random) { facts.change(using: &random) }
        return facts
    }

    mutating func change(using random: inout SplitMix) {
        func text() -> [UInt8] { Self.texts.randomElement(using: &random) ?? [] }
        switch Int.random(in: 0..<16, using: &random) {
        case 0: identity = Bool.random(using: &random) ? nil : text()
        case 1: cacheKey = Int.random(in: 0..<4, using: &random) > 0 ? nil : text()
        case 2: method = Array((["GET", "POST", "QUERY"].randomElement(using: &random) ?? "").utf8)
        case 3: path = text()
        case 4...8: items[text(), default: []].append(Bool.random(using: &random) ? text() : nil)
        case 9: items[text()] = nil
        case 10, 11:
            let name = Array((["accept", "x-b", "x-b-c"].randomElement(using: &random) ?? "").utf8)
            headers[name, default: []].append(Self.values.randomElement(using: &random) ?? [])
        case 12, 13:
            let name = Array((["authorization", "x-key"].randomElement(using: &random) ?? "").utf8)
            let prefix = Self.prefixes.randomElement(using: &random) ?? []
            secrets.insert(NamedSecret(header: name, prefix: prefix, secret: text()))
        default: body = Value.any(depth: 3, using: &random)
        }
    }

    /// Returns a request with these facts, in any order.
    func request(using random: inout SplitMix) throws -> Request {
        let segment = path.map { "%" + Hex.text(of: [$0]) }.joined()
        var request = Request("http://h/a\(segment)", method: try #require(HTTPRequest.Method(Self.text(method))))
        request.destination = .query
        for (name, value) in Self.interleaved(items, using: &random) {
            request.parameters.append(Self.text(name), value.map { .string(Self.text($0)) } ?? JSONValue.null)
        }
        for (name, value) in Self.interleaved(headers, using: &random) {
            let name = Bool.random(using: &random) ? Self.text(name) : Self.text(name).uppercased()
            request.headers.append(try HTTPField(checking: name, Self.text(value)))
        }
        request.credentials = try secrets.shuffled(using: &random).map { secret in
            let name = try #require(HTTPField.Name(Self.text(secret.header)))
            return .header(name, prefix: Self.text(secret.prefix), .secret(Self.text(secret.secret)))
        }
        request.identity = identity.map(Self.text)
        request.cacheKey = cacheKey.map(Self.text)
        request.body = try body.map { try .json(text: $0.text(using: &random)) }
        return request
    }

    /// Returns pairs of name and value in random order. The values of each name keep their order.
    private static func interleaved<Content>(
        _ values: [[UInt8]: [Content]],
        using random: inout SplitMix
    ) -> [([UInt8], Content)] {
        var rest = values.mapValues { $0[...] }
        let names = values.flatMap { Array(repeating: $0.key, count: $0.value.count) }.shuffled(using: &random)
        return names.compactMap { name in rest[name]?.popFirst().map { (name, $0) } }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

// MARK: Parsing

extension Facts {
    struct Unreadable: Error {
        var line: String
    }

    /// Parses a canonical text without hidden credentials: that it can be parsed shows that no fact was lost.
    init(decoding form: [UInt8]) throws {
        method = []
        #expect(form.last == 0x0A)
        for line in form.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false) {
            let parts = line.split(separator: 0x20, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
            guard parts.count == 2 else { throw Unreadable(line: Self.text(Array(line))) }
            try read(parts[1], tag: Self.text(parts[0]))
        }
    }

    private mutating func read(_ content: [UInt8], tag: String) throws {
        func parts(_ separator: UInt8, _ splits: Int = .max) -> [[UInt8]] {
            content.split(separator: separator, maxSplits: splits, omittingEmptySubsequences: false).map(Array.init)
        }
        switch tag {
        case "diamond": #expect(content == Array("1".utf8))
        case "identity": identity = try Self.decoded(content)
        case "cache-key": cacheKey = try Self.decoded(content)
        case "method": method = content
        case "origin": #expect(content == Array("http://h".utf8))
        case "path": path = Array(try Self.decoded(content).dropFirst(2))
        case "query":
            let item = try parts(UInt8(ascii: "="), 1).map(Self.decoded)
            items[item[0], default: []].append(item.count > 1 ? item[1] : nil)
        case "header":
            let field = parts(0x20, 1)
            headers[field[0], default: []].append(field[1])
        case "credential":
            let credential = parts(0x20)
            try #require(credential.count == 4 && credential[0] == Array("header".utf8))
            let (prefix, secret) = (try Self.decoded(credential[2]), try Self.decoded(credential[3]))
            secrets.insert(NamedSecret(header: credential[1], prefix: prefix, secret: secret))
        case "type": #expect(content == Array("application/json".utf8))
        case "json": body = try JSONDecoder().decode(Value.self, from: Data(content))
        default: throw Unreadable(line: tag)
        }
    }

    private static func decoded(_ bytes: [UInt8]) throws -> [UInt8] {
        Array(try #require(Self.text(bytes).removingPercentEncoding).utf8)
    }
}

// MARK: JSON

private enum Value: Hashable, Decodable {
    case null
    case bool(Bool)
    case integer(Int)
    case text([UInt8])
    case list([Value])
    case object([String: Value])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(Array(value.utf8))
        } else if let value = try? container.decode([Value].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: Value].self))
        }
    }

    static func any(depth: Int, using random: inout SplitMix) -> Value {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 4), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .integer(.random(in: -2...2, using: &random))
        case 3:
            let text = ["", "1", "null", "ü", "u\u{308}", "\n\"\\"].randomElement(using: &random) ?? ""
            return .text(Array(text.utf8))
        case 4:
            let count = Int.random(in: 0...3, using: &random)
            return .list((0..<count).map { _ in any(depth: depth - 1, using: &random) })
        default:
            let names = ["", "a", "b", "10", "2", "\n", "😂", "\u{fb33}"].shuffled(using: &random)
            let members = names.prefix(.random(in: 0...4, using: &random)).map { name in
                (name, any(depth: depth - 1, using: &random))
            }
            return .object(Dictionary(uniqueKeysWithValues: members))
        }
    }

    /// JSON with members, white space and numbers in any of their forms.
    func text(using random: inout SplitMix) -> String {
        let space = ["", " ", "\n", "\t "].randomElement(using: &random) ?? ""
        switch self {
        case .null: return "null" + space
        case .bool(let value): return "\(space)\(value)"
        case .integer(let value): return "\(value)" + (["", ".0", "e0", ".00E+0"].randomElement(using: &random) ?? "")
        case .text(let bytes): return Self.quoted(bytes, isEscaping: .random(using: &random)) + space
        case .list(let values):
            return "[" + space + values.map { $0.text(using: &random) }.joined(separator: "," + space) + "]"
        case .object(let members):
            let written = members.shuffled(using: &random).map { name, value in
                let name = Self.quoted(Array(name.utf8), isEscaping: .random(using: &random))
                return name + space + ":" + value.text(using: &random)
            }
            return "{" + space + written.joined(separator: space + ",") + "}"
        }
    }

    private static func quoted(_ bytes: [UInt8], isEscaping: Bool) -> String {
        let units = String(decoding: bytes, as: UTF8.self).unicodeScalars.map { scalar in
            guard isEscaping || scalar.value < 0x20 || "\"\\".unicodeScalars.contains(scalar) else {
                return String(scalar)
            }
            return String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
        return "\"" + units.joined() + "\""
    }
}

// MARK: Random choices

extension String {
    fileprivate static let alphabet = Array("abcdefghijklmnopqrstuvwxyz")

    fileprivate static func letters(using random: inout SplitMix) -> String {
        String((0..<Int.random(in: 1...12, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" })
    }

    /// Replaces one letter by another.
    fileprivate func changingOne(using random: inout SplitMix) -> String {
        var letters = Array(self)
        let index = letters.indices.randomElement(using: &random) ?? 0
        let others = Self.alphabet.filter { $0 != letters[index] }
        letters[index] = others.randomElement(using: &random) ?? "a"
        return String(letters)
    }
}
