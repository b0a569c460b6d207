import Foundation
import Testing

@testable import Diamond

@Suite("JSON without its nulls") struct NullRemoverTests {
    private func removed(_ text: String) -> String? {
        NullRemover.removingNulls(from: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        (#"{"a":null}"#, "{}"), (#"{"a":null,"b":1}"#, #"{"b":1}"#), (#"{"a":1,"b":null}"#, #"{"a":1}"#),
        (#"{"a":1,"b":null,"c":3}"#, #"{"a":1,"c":3}"#), (#"{ "a" : null , "b" : null }"#, "{}"),
        (#"{"a":{"b":null,"c":[{"d":null,"e":0}]}}"#, #"{"a":{"c":[{"e":0}]}}"#),
        (#"[null,{"a":null},[null]]"#, "[null,{},[null]]"), ("null", "null"), (#""null""#, #""null""#),
        (#"{"null":"null"}"#, #"{"null":"null"}"#), (#"{"a\"":null,"b":"}\\"}"#, #"{"b":"}\\"}"#),
        (
            #"{"a":1.0,"b":9007199254740993,"c":1e400,"d":"\u00fc"}"#,
            #"{"a":1.0,"b":9007199254740993,"c":1e400,"d":"\u00fc"}"#
        ),
        ("{}", "{}"), ("[ ]", "[]"), (" [ 1 , true ]\n", "[1,true]"),
    ]) func `keeps every other byte except white space`(text: String, result: String) {
        #expect(removed(text) == result)
    }

    @Test(arguments: [
        "", " ", "{", "[", "}", "[1", "[1,", "[,1]", "[1,]", "[1 2]", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#,
        #"{"a":null,}"#,
        #"{a:1}"#, #"{"a":nullable}"#, #"{"a":1"#, #"{"a" 1}"#, "\"a", "\"a\\", "1 2", #"{"a":null"#, "<html>{}",
        "{}{}",
        #"{"a":null "b":1}"#,
        String(repeating: "[", count: 100_000),
    ]) func `is nil for invalid JSON`(text: String) {
        #expect(removed(text) == nil)
    }

    @Test func `equals the usual parser's value without nulls`() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let value = Self.value(&random, depth: 0)
            let bytes = try #require(NullRemover.removingNulls(from: try value.written()))
            #expect(try JSONValue.read(Data(bytes)) == Self.withoutNulls(value))
        }
    }

    private static func value(_ random: inout SystemRandomNumberGenerator, depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth < 5 ? 7 : 4), using: &random) {
        case 0, 1: return .null
        case 2: return .integer(.random(in: -9...9, using: &random))
        case 3: return .string(["", "null", "\"", "\\", "ü,}"].randomElement(using: &random) ?? "")
        case 4: return .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(&random, depth: depth + 1) })
        default:
            let names = ["a", "b\"", "c:", "d"].prefix(Int.random(in: 0...4, using: &random))
            return .object(Dictionary(uniqueKeysWithValues: names.map { ($0, value(&random, depth: depth + 1)) }))
        }
    }

    private static func withoutNulls(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members): .object(members.filter { $0.value != .null }.mapValues(withoutNulls))
        case .array(let values): .array(values.map(withoutNulls))
        default: value
        }
    }
}
