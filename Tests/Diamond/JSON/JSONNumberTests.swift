import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("A number in JSON") struct JSONNumberTests {
    private static func read(_ text: String) throws -> JSONValue { try JSONValue(reading: text.utf8) }

    private static func written(_ value: JSONValue) throws -> String {
        String(decoding: try JSONWriter.text(of: value), as: UTF8.self)
    }

    @Test(
        arguments: [
            "9223372036854775807", "9223372036854775808", "9223372036854776000", "12345678901234567890",
            "18446744073709551615", "18446744073709551616", "18446744073709552000", "-9223372036854775808",
            "-9223372036854775809", "340282366920938463463374607431768211455", "3.141592653589793238",
            "-0.12345678901234567890123", "9007199254740993.5", "123456789.123456789", "1e-400", "1.5e-401", "1e+21",
            "0.1", "5e-324", "1.7976931348623157e+308", "2.5e-7",
        ])
    func `is written with the digits that were read`(text: String) throws {
        #expect(try Self.written(Self.read(text)) == text)
    }

    @Test(
        arguments: [
            ("4.611686018427388e18", "4611686018427388000"), ("9.007199254740993e15", "9007199254740993"),
            ("9007199254740993.0", "9007199254740993"), ("1844674407370955161.5e1", "18446744073709551615"),
            ("92233720368547758080e-1", "9223372036854775808"),
            ("1.50000000000000000000001e5", "150000.000000000000000001"),
            ("-0.0", "0"), ("0e999999999999", "0"), ("1e22", "1e+22"), ("10000000000000000000000", "1e+22"),
            ("3.00", "3"), ("12345678901234567890.50", "12345678901234567890.5"),
        ])
    func `equal JSON numbers are written alike, whatever their form`(text: String, expected: String) throws {
        let value = try Self.read(text)
        #expect(try Self.written(value) == expected)
        #expect(try Self.read(expected) == value && Self.read(expected).hashValue == value.hashValue)
    }

    @Test func `keeps its value, whatever its digits`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(2000, soaking: 200_000) {
            let text = Self.number(&random)
            guard let value = try? Self.read(text) else { continue }
            let written = try Self.written(value)
            #expect(Self.decimal(written) == Self.decimal(text), "seed \(Effort.seed): \(text), \(written)")
            #expect(try Self.read(written) == value, "seed \(Effort.seed): \(text), \(written)")
        }
    }

    private static func number(_ random: inout SplitMix) -> String {
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in "0123456789".randomElement(using: &random) ?? "0" })
        }
        var text = random.below(2) == 0 ? "-" : ""
        text += ["0", "9", "7\(digits(random.below(24)))", "1\(digits(18))", "9\(digits(18))"][random.below(5)]
        if random.below(2) == 0 { text += "." + digits(1 + random.below(25)) }
        if random.below(3) == 0 { text += ["e", "E+", "e-"][random.below(3)] + String(random.below(320)) }
        return text
    }

    private static func decimal(_ text: String) -> [String] {
        let isNegative = text.hasPrefix("-")
        let decimal = JSONNumber.Decimal(parsing: Array(text.utf8.drop { $0 == UInt8(ascii: "-") }))
        if decimal.digits.isEmpty { return ["0"] }
        return [isNegative ? "-" : "", String(decoding: decimal.digits, as: UTF8.self), String(decimal.point)]
    }

    @Test func `an exponent beyond a million counts where as many digits make up for it`() throws {
        let zeros = String(repeating: "0", count: 1_000_001)
        #expect(try Self.read("0.\(zeros)1e1000003") == 10)
        #expect(try Self.read("1\(zeros)e-1000002") == 0.1)
    }

    @Test(arguments: ["1e-100000", "-2.5e-99999"])
    func `a JSON number that is smaller than any double keeps its digits`(text: String) throws {
        #expect(try Self.written(Self.read(text)) == text)
    }

    @Test func `an integer and a double that are written alike are equal`() throws {
        let (integer, double) = (try Self.read("18446744073709552000"), JSONValue.number(1.8446744073709552e19))
        #expect(integer == double && integer.hashValue == double.hashValue)
        #expect(try Self.written(integer) == Self.written(double))
        #expect(JSONValue(UInt64.max) != double && JSONValue(UInt64.max).description == "18446744073709551615")
    }

    @Test(arguments: ["1e400", "-1e309", "1e-99999999999999999999", "123456789e999999", "1e-100001", "0.1e-100000"])
    func `a JSON number without use for any double is refused`(text: String) {
        let error = #expect(throws: JSONError.self) { try Self.read(text) }
        #expect(error?.code == .ambiguous)
    }

    static let exact: [JSONValue] = [
        JSONValue(UInt64.max), JSONValue(UInt64(1) << 63), .integer(.min), 0.1, 3, nil, "12345678901234567890",
        JSONValue(Int128(Int64.min) - 1), 1e-7,
    ]

    @Test(arguments: exact) func `a JSON value keeps its digits in Codable forms`(value: JSONValue) throws {
        let text = try JSONEncoder().encode([value])
        #expect(try JSONDecoder().decode([JSONValue].self, from: text) == [value])
        if value == nil { return }
        let list = try PropertyListEncoder().encode([value])
        #expect(try PropertyListDecoder().decode([JSONValue].self, from: list) == [value])
    }

    @Test(arguments: ["12345678901234567890.125", "3.141592653589793238", "123456789012345678901234567890"])
    func `a JSON value keeps the digits that a decoder would round`(text: String) throws {
        let value = try JSONDecoder().decode([JSONValue].self, from: Data("[\(text)]".utf8))
        #expect(try value == [Self.read(text)])
        #expect(try JSONDecoder().decode([JSONValue].self, from: JSONEncoder().encode(value)) == value)
        let list = try PropertyListEncoder().encode(value)
        #expect(try PropertyListDecoder().decode([JSONValue].self, from: list) == value)
    }

    @Test func `a number that no decoder returns exactly is decoded as the nearest double`() throws {
        let text = Data("[3.14159265358979323846264338327950288419716939937510]".utf8)
        #expect(try JSONDecoder().decode([JSONValue].self, from: text) == [.number(.pi)])
        let value = try JSONValue(reading: text)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
        #expect(try Self.written(value) == "[3.1415926535897932384626433832795028841971693993751]")
    }

    @Test func `a request sends and stores every digit of a number in its body`() throws {
        var request = Request("http://h/")
        request.method = .put
        request.body = .json(["ref": JSONValue(UInt64.max), "pi": try Self.read("3.141592653589793238")])
        #expect(try Request(json: request.json()) == request)
        #expect(try RequestBody.json(encoding: ["ref": UInt64.max]) == .json(["ref": JSONValue(UInt64.max)]))
        var other = request
        other.body = .json(["ref": JSONValue(UInt64.max - 1), "pi": try Self.read("3.141592653589793238")])
        #expect(other != request)
        let texts = try [request, other].map { try String(decoding: $0.json(), as: UTF8.self) }
        #expect(texts[0].contains("18446744073709551615") && texts[1].contains("18446744073709551614"))
    }
}
