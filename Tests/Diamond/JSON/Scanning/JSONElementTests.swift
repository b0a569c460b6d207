import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("Elements of a JSON tape") struct JSONElementTests {
    /// Calls `body` with the value of a text.
    private func scan<Result>(
        _ text: String, _ ambiguities: JSONTape.Ambiguities = .refused, _ body: (JSONElement) throws -> Result
    ) throws -> Result {
        try Array(text.utf8).withUnsafeBytes { bytes in
            let tape = try JSONTape(scanning: bytes, ambiguities: ambiguities)
            return try withExtendedLifetime(tape) { try body(tape.root) }
        }
    }

    @Test func `elements and members are visited in the order of the text, whatever they contain`() throws {
        try scan(#"{"a":[1,[2,{"x":3}],[]],"b":{"c":{},"d":null},"e":"f"}"#) { root in
            #expect(root.kind == .object && root.count == 3)
            #expect(root.members.map { $0.name.string() } == ["a", "b", "e"])
            let values = root.members.map(\.value)
            #expect(values.map(\.count) == [3, 2, 0])
            #expect(values[0].elements.map(\.kind) == [.number, .array, .array])
            #expect(values[1].members.map(\.value.kind) == [.object, .null])
            #expect(values[0].members.map(\.name.kind) == [] && values[2].elements.map(\.kind) == [])
            #expect(
                values.map { String(decoding: $0.text, as: UTF8.self) } == [
                    #"[1,[2,{"x":3}],[]]"#, #"{"c":{},"d":null}"#, "f",
                ])
        }
    }

    @Test(arguments: [
        ("name", "name"), ("é", "é"), (#"n\u0061me"#, "name"), ("", ""), ("a name of 17 bytes", "a name of 17 bytes"),
    ])
    func `a name is compared byte by byte, also one with escapes`(written: String, name: String) throws {
        try scan("{\"\(written)\":1}") { root in
            let first = try #require(root.members.map(\.name).first)
            #expect(first.isName(name) && !first.isName(name + "x") && !first.isName("x" + name))
            #expect(first.string() == name && first.isPlain == (written == name))
            #expect(Array(name.utf8).withUnsafeBytes { first.isName($0) })
            #expect(first.isName("name" as StaticString) == (name == "name"))
            #expect(!first.isName("e\u{301}"))
        }
    }

    @Test(
        arguments: [
            ("0", 0, 0), ("-0", 0, 0), ("7", 7, 7), ("-7", -7, nil),
            ("999999999999999999", 999_999_999_999_999_999, 999_999_999_999_999_999),
            ("9223372036854775807", .max, 9_223_372_036_854_775_807),
            ("9223372036854775808", nil, 9_223_372_036_854_775_808),
            ("18446744073709551615", nil, .max), ("18446744073709551616", nil, nil),
            ("-9223372036854775808", .min, nil),
            ("-9223372036854775809", nil, nil), ("1.0", 1, 1), ("1e3", 1000, 1000), ("1.5", nil, nil),
            ("\"7\"", nil, nil),
            ("null", nil, nil), ("[3]", nil, nil), ("1e999999", nil, nil),
        ] as [(String, Int64?, UInt64?)])
    func `a number gives an integer if it is one`(text: String, integer: Int64?, unsigned: UInt64?) throws {
        try scan(text, .ignored) { #expect($0.integer() == integer && $0.unsigned() == unsigned) }
    }

    @Test func `a number gives the nearest double`() throws {
        var random = SplitMix(state: Effort.seed)
        var texts = [
            "0", "-0", "0.1", "-0.0", "1e22", "1e23", "9007199254740993", "5e-324", "18446744073709551616",
            "2.2250738585072011e-308",
        ]
        for _ in 0..<Effort.rounds(3000, soaking: 1_000_000) {
            let digits = String(random.next() >> UInt64(random.below(64)))
            let fraction = random.below(2) == 0 ? "" : ".\(random.next() >> UInt64(random.below(64)))"
            texts.append(digits + fraction + (random.below(2) == 0 ? "" : "e\(random.below(60) - 30)"))
        }
        for text in texts {
            let double = try #require(Double(text))
            try scan(text) { #expect($0.double()?.bitPattern == double.bitPattern, "seed \(Effort.seed): \(text)") }
        }
        try scan("[1e400,\"1\",true]", .ignored) { #expect($0.elements.map { $0.double() } == [nil, nil, nil]) }
    }

    @Test func `an ambiguous text is read where its reader decides`() throws {
        try scan(#"{"a":"\ud800x","a":1e400}"#, .ignored) { root in
            let values = root.members.map(\.value)
            #expect(values[0].string() == "\u{FFFD}x" && values[0].hasLoneSurrogate && !values[1].hasLoneSurrogate)
            #expect(values[1].kind == .number)
        }
    }

    @Test func `an isolated object is one element, with its text and its fault`() throws {
        try scan(#"[{"a":1},{"a":{"b":1,"b":2}, "c":[1]},"\udc00",[1e400],2]"#, .isolated) { root in
            #expect(root.elements.map(\.kind) == [.object, .object, .fault, .fault, .number])
            let fault = try #require(root.elements.map { $0 }[1].members.map(\.value).first)
            #expect(fault.fault == "the name \"b\" is in one object twice")
            #expect(String(decoding: fault.text, as: UTF8.self) == #"{"b":1,"b":2}"#)
            #expect(root.elements.map { String(decoding: $0.text, as: UTF8.self) }[2...3] == [#""\udc00""#, "[1e400]"])
        }
    }

    @Test func `objects of one list share the names of the first, and each has its own values`() throws {
        let list = (0..<50).map { #"{"id":\#($0),"name":"number \#($0)","\u0061":{"id":1,"x":\#($0)}}"# }
        let value = try JSONValue(reading: "[\(list.joined(separator: ",")),{\"name\":1,\"id\":2,\"a\":3}]".utf8)
        for index in 0..<50 {
            #expect(
                value[index] == [
                    "id": .integer(Int64(index)), "name": "number \(index)",
                    "a": ["id": 1, "x": .integer(Int64(index))],
                ])
        }
        #expect(value[50] == ["name": 1, "id": 2, "a": 3])
    }
}
