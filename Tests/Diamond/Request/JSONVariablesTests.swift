import Foundation
import Testing

@testable import Diamond

@Suite("JSON values of variables") struct JSONVariablesTests {
    private enum Order: String, ParameterConvertible { case name, population }

    private let title = "milk"
    private let count = 3
    private let missing: String? = nil
    private let tags = ["a", "b"]
    private let ratio = Float(0.1)
    private let isDone = false

    @Test func `an object takes variables and optionals`() throws {
        let due: String? = "today"
        let value = JSONValue([
            "title": title, "count": count, "tags": tags, "ratio": ratio, "isDone": isDone, "order": Order.name,
            "due": due, "missing": missing, "null": nil, "nested": ["a": title], "value": JSONValue.null,
        ])
        let expected: JSONValue = [
            "title": "milk", "count": 3, "tags": ["a", "b"], "ratio": 0.1, "isDone": false, "order": "name",
            "due": "today", "missing": nil, "null": nil, "nested": ["a": "milk"], "value": nil,
        ]
        #expect(value == expected)
    }

    @Test func `a body takes variables, and literals as before`() {
        let expected: JSONValue = ["title": "milk", "count": 3, "missing": nil]
        #expect(RequestBody.json(["title": title, "count": count, "missing": missing]) == .json(expected))
        let nested: JSONValue = ["a": ["b": 1, "c": "x"], "d": [1, "y", nil]]
        #expect(RequestBody.json(["a": ["b": 1, "c": "x"], "d": [1, "y", nil]]) == .json(nested))
        #expect(RequestBody.json(["a": .string(title), "b": .null]) == .json(["a": "milk", "b": nil]))
        #expect(RequestBody.json([:]) == .json(.object([:])))
    }

    @Test(
        arguments: [
            (UInt64.max, "18446744073709551615"), (Int64.min, "-9223372036854775808"), (9_007_199_254_740_993, nil),
            (UInt8.max, "255"), ([UInt64.max], "[18446744073709551615]"), (["n": UInt64.max], nil), (1.5, "1.5"),
            (Float(0.1), "0.1"),
        ] as [(any ParameterConvertible & Sendable, String?)])
    func `a number of a variable keeps its digits`(number: any ParameterConvertible & Sendable, text: String?) throws {
        let expected = text ?? (number is Int ? "9007199254740993" : #"{"n":18446744073709551615}"#)
        #expect(JSONValue(number).description == expected)
        #expect(try JSONValue(reading: expected.utf8) == JSONValue(number))
    }

    @Test func `a member is read by its name, and an element by its index, and what is absent is null`() throws {
        let json: JSONValue = ["user": ["name": "ann", "tags": ["a", 2]], "description": "text", "e\u{301}": 1]
        #expect(json.user.name == "ann" && json["user"]["name"] == "ann")
        #expect(json.user.tags[1] == 2 && json.user.tags[2] == .null && json.user.tags[-1] == .null)
        #expect(json.none == .null && json.user.name.first == .null && json[0] == .null)
        #expect(json["description"] == "text" && json.description.hasPrefix("{"))
        // Names are compared byte by byte.
        #expect(json["e\u{301}"] == 1 && json["\u{E9}"] == .null)
    }
}
