import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("JSON") struct JSONTests {
    @Test(arguments: ["arrays", "french", "structures", "unicode", "values", "weird"])
    func `is written as the reference vectors of RFC 8785 say`(name: String) throws {
        let input = try JSONValue(reading: Fixture.bytes("JCS/input/\(name).json"))
        #expect(try JSONWriter.text(of: Self.rounded(input)) == Fixture.bytes("JCS/output/\(name).json"))
    }

    /// Rounds each number to a double, as RFC 8785 does.
    private static func rounded(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let values): .array(values.map(rounded))
        case .object(let members): .object(members.mapValues(rounded))
        case .fragment(let number): Double(number.text).map(JSONValue.number) ?? value
        default: value
        }
    }

    // RFC 8785 appendix B, and the borders of ECMAScript's layouts.
    @Test(
        arguments: [
            (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"), (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"), (0x7FEF_FFFF_FFFF_FFFF, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"), (0xC340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"), (0x44B5_2D02_C7E1_4AF5, "9.999999999999997e+22"),
            (0x44B5_2D02_C7E1_4AF6, "1e+23"), (0x44B5_2D02_C7E1_4AF7, "1.0000000000000001e+23"),
            (0x444B_1AE4_D6E2_EF4E, "999999999999999700000"), (0x444B_1AE4_D6E2_EF4F, "999999999999999900000"),
            (0x444B_1AE4_D6E2_EF50, "1e+21"), (0x3EB0_C6F7_A0B5_ED8C, "9.999999999999997e-7"),
            (0x3EB0_C6F7_A0B5_ED8D, "0.000001"), (0x41B3_DE43_5555_5553, "333333333.3333332"),
            (0x41B3_DE43_5555_5555, "333333333.3333333"), (0xBECB_F647_612F_3696, "-0.0000033333333333333333"),
            (0x4314_3FF3_C1CB_0959, "1424953923781206.2"),
        ] as [(UInt64, String)])
    func `a JSON number is written as ECMAScript does`(bits: UInt64, text: String) throws {
        #expect(try JSONWriter.text(of: .number(Double(bitPattern: bits))) == Array(text.utf8))
    }

    @Test func `a JSON object has its names in the order of their UTF-16 code units`() throws {
        let pieces = [
            "a", "b", "aaaaaaaa", "\u{0}", "é", "\u{7FFF}", "\u{E000}", "\u{FB33}", "\u{FFFD}", "😂", "\u{10FFFF}",
        ]
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(300, soaking: 30_000) {
            var members: [String: JSONValue] = [:]
            for _ in 0..<Int.random(in: 0...24, using: &random) {
                let count = Int.random(in: 0...4, using: &random)
                members[(0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()] = 1
            }
            let sorted = members.keys.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
            let texts = try sorted.map { String(decoding: try JSONWriter.text(of: .string($0)), as: UTF8.self) + ":1" }
            let text = try JSONWriter.text(of: .object(members))
            #expect(text == Array("{\(texts.joined(separator: ","))}".utf8), "seed \(Effort.seed): \(sorted)")
        }
    }

    @Test func `a number that is not finite has no JSON form`() {
        for value in [Double.nan, .infinity, -.infinity] {
            let error = #expect(throws: JSONError.self) { try JSONWriter.text(of: ["a": .number(value)]) }
            #expect(error?.code == .notFinite)
        }
    }

    @Test(arguments: [
        ("", 1, 1), ("{\"a\":1,}", 1, 8), ("[1 2]", 1, 4), ("{\"a\" 1}", 1, 6), ("\n\n  nul", 3, 3), ("01", 1, 2),
        ("\"a\u{1}b\"", 1, 4), ("\"abc", 1, 6), ("[1]]", 1, 4), ("-", 1, 2), ("1.", 1, 3), ("\"\\x\"", 1, 4),
        (#"{"a":1,"a":2"#, 1, 13), (#"{"a":1,"a":2} x}"#, 1, 15), (#"["\ud800" 1]"#, 1, 11), ("[1e400,]", 1, 8),
    ]) func `malformed JSON is refused with its line and column`(text: String, line: Int, column: Int) {
        let error = #expect(throws: JSONError.self) { try JSONValue(reading: text.utf8) }
        #expect(error?.code == .malformed)
        #expect(error?.message.hasPrefix("line \(line), column \(column): ") == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":{"b":1,"\u0062":2}}"#, #""\ud800""#, #""\udc00x""#, #"["\ud800\u0041"]"#,
        "1e400", "-1e309", "[1e-9999999]",
    ]) func `ambiguous JSON is detected`(text: String) {
        let error = #expect(throws: JSONError.self) { try JSONValue(reading: text.utf8) }
        #expect(error?.code == .ambiguous)
    }

    @Test(
        arguments: [
            ("1.0", 1), ("-0", 0), ("1e3", 1000), ("100e-2", 1), ("9223372036854775807", .integer(.max)),
            ("0.1", 0.1), ("1E+2", 100), ("\"\\ud83d\\ude00\\/\"", "😀/"), (" [ ] ", []), ("{ }", [:]), ("null", nil),
        ] as [(String, JSONValue)]) func `is parsed`(text: String, value: JSONValue) throws
    {
        #expect(try JSONValue(reading: text.utf8) == value)
    }

    @Test func `JSON nested beyond reason is refused, without a crash`() throws {
        let deep = Array(repeating: UInt8(ascii: "["), count: 100_000)
        #expect(throws: JSONError.self) { try JSONValue(reading: deep) }
        let fine = Array(repeating: UInt8(ascii: "["), count: 128) + Array(repeating: UInt8(ascii: "]"), count: 128)
        #expect(throws: Never.self) { try JSONValue(reading: fine) }
    }

    @Test func `a value nested beyond reason is not written, without a crash`() throws {
        func nested(_ depth: Int) -> JSONValue { (0..<depth).reduce(nil) { value, _ in .array([value]) } }
        #expect(try JSONWriter.text(of: nested(JSONWriter.maximumDepth)).count == 2 * JSONWriter.maximumDepth + 4)
        for depth in [JSONWriter.maximumDepth + 1, 1_000] {
            #expect(throws: JSONError.self) { try JSONWriter.text(of: ["deep": nested(depth)]) }
            #expect(throws: RequestError.self) { try RequestBody.json(nested(depth)).encoded() }
        }
    }

    @Test func `may begin with a byte order mark`() throws {
        #expect(try JSONValue(reading: [0xEF, 0xBB, 0xBF] + Array("[1]".utf8)) == [1])
    }

    @Test func `JSON bytes that are not UTF-8 are refused`() {
        #expect(throws: JSONError.self) { try JSONValue(reading: [0x22, 0xFF, 0x22]) }
    }

    @Test func `an integral JSON number equals the integer`() {
        #expect(JSONValue.number(2) == .integer(2))
        #expect(JSONValue.number(2).hashValue == JSONValue.integer(2).hashValue)
        #expect(JSONValue.array([.number(-0.0)]) == [0])
        #expect(JSONValue.integer(1) != .bool(true))
    }
}
