import Foundation
import Testing

@testable import Diamond

@Suite("Objects that JSON readers could read differently") struct AmbiguousObjectTests {
    private static func fault(_ text: String, at path: [Int] = []) throws -> String? {
        var value = try JSONValue(reading: text.utf8, isolatesFaults: true)
        for index in path {
            guard case .array(let values) = value else { return nil }
            value = values[index]
        }
        return value.fault
    }

    private static let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)

    @Test(arguments: [
        (#"{"a":1,"\u0061":2}"#, "twice"), (#"{"a":"\ud800"}"#, "surrogate"), (#"{"\udc00":1}"#, "surrogate"),
        (#"{"a":[1,[1e400]]}"#, "double"), ("{\"a\":\(deep)}", "deeper"), (#"{"a":[{"b":1}],"a":{"c":1}}"#, "twice"),
    ]) func `an object that readers could read differently is kept as text, and others are read`(
        text: String, reason: String
    ) throws {
        let list = "[{\"x\":1}, \(text) ,{\"y\":\"z\"}]"
        let value = try JSONValue(reading: list.utf8, isolatesFaults: true)
        guard case .array(let values) = value else { throw CancellationError() }
        #expect(values[0] == ["x": 1] && values[2] == ["y": "z"])
        #expect(values[1].fault?.contains(reason) == true, "\(values[1].fault ?? "")")
        #expect(String(decoding: try JSONWriter.text(of: value), as: UTF8.self) == "[{\"x\":1},\(text),{\"y\":\"z\"}]")
        #expect(throws: JSONError.self) { try JSONValue(reading: list.utf8) }
        #expect(throws: RequestError.self) { try Request("http://h/", body: .json(value)).json() }
    }

    @Test(arguments: [
        (#""\ud800""#, "surrogate"), ("1e400", "double"), (deep, "deeper"), (#"["\ud800"]"#, "surrogate"),
    ]) func `an element of a list that is no object and cannot be read is kept as text`(
        text: String, reason: String
    ) throws {
        let value = try JSONValue(reading: "[{\"a\":1},\(text)]".utf8, isolatesFaults: true)
        #expect(value[0] == ["a": 1] && value[1]?.fault?.contains(reason) == true, "\(value)")
    }

    @Test func `only the innermost object is kept as text`() throws {
        let text = #"[{"a":{"b":"\ud800"},"c":1}]"#
        #expect(try Self.fault(text, at: [0]) == nil)
        #expect(try JSONValue(reading: text.utf8, isolatesFaults: true)[0]?["c"] == 1)
        #expect(try JSONValue(reading: text.utf8, isolatesFaults: true)[0]?["a"]?.fault != nil)
        #expect(
            try Self.fault(#"[{"x":"\ud800","b":{"c":1},"d":{"e":1e400}}]"#, at: [0])?.contains("surrogate") == true)
    }

    @Test(arguments: [
        "1e400", #"{"a":1}1e400"#, "[{\"a\":\(String(repeating: "[", count: 200))}]", #"[{"a":"\ud800"},]"#,
        "[{\"a\":\(String(repeating: "[", count: 200))nope\(String(repeating: "]", count: 200))}]",
        "[{\"a\":\(String(repeating: "{\"b\":", count: 200))1\(String(repeating: "}", count: 199))}]",
    ]) func `a text without an object or a list around its mistake is refused`(text: String) {
        #expect(throws: JSONError.self) { try JSONValue(reading: text.utf8, isolatesFaults: true) }
    }

    @Test func `100,000 levels of nesting in an object do not exhaust the stack`() throws {
        let opening = String(repeating: "[{\"a\":", count: 50_000)
        let text = "[{\"id\":1},{\"a\":\(opening)1\(String(repeating: "}]", count: 50_000))},{\"id\":3}]"
        let value = try JSONValue(reading: text.utf8, isolatesFaults: true)
        #expect(value[0] == ["id": 1] && value[2] == ["id": 3])
        #expect(String(decoding: try JSONWriter.text(of: value), as: UTF8.self) == text)
    }

    @Test func `an object that is kept as text is treated as a secret`() throws {
        let value = try JSONValue(reading: #"{"a":{"token":"x","token":"y"}}"#.utf8, isolatesFaults: true)
        #expect(value.hasSecretMember(KeyRules()))
    }
}

extension JSONValue {
    fileprivate subscript(index: Int) -> JSONValue? {
        if case .array(let values) = self, values.indices.contains(index) { values[index] } else { nil }
    }

    fileprivate subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}
