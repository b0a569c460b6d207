import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("Values of Encodable types") struct ValueEncoderTests {
    typealias Samples = DecodableSamples

    /// A type with texts that its values are decoded from.
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let texts: [String]
        /// Returns whether the value was made without a text, and how it differs from that of `JSONEncoder`; `nil` for a
        /// text that is no value of the type.
        let compare: @Sendable (Data, JSONEncoder) -> (isMade: Bool, difference: String?)?

        init<Value: Codable & SendableMetatype>(_ type: Value.Type, _ texts: String...) {
            testDescription = "\(type)"
            self.texts = texts
            compare = { data, encoder in
                let decoder = JSONDecoder()
                decoder.nonConformingFloatDecodingStrategy =
                    .convertFromString(positiveInfinity: "+", negativeInfinity: "-", nan: "")
                return (try? decoder.decode(type, from: data)).map { Self.compare($0, encoder) }
            }
        }

        static func compare(
            _ value: some Encodable, _ encoder: JSONEncoder
        ) -> (isMade: Bool, difference: String?) {
            let made = EncodingSettings(of: encoder).flatMap { ValueEncoder.value(of: value, settings: $0) }
            guard let made else { return (false, nil) }
            do {
                let expected = try JSONValue(reading: encoder.encode(value))
                let isEqual = made == expected && "\(made)".isExactly("\(expected)")
                return (true, isEqual ? nil : "\(made) is not \(expected)")
            } catch { return (true, "\(made) instead of \(error)") }
        }
    }

    static let samples = [
        Sample(
            Samples.Flat.self,
            #"{"id":1,"name":"Ä\u00e9\n😀","isActive":true,"score":1.25e2,"ratio":0.1,"note":null,"firstName":"x"}"#,
            #"{"firstName":"y","note":"a\u0000\"/","score":-0.0,"isActive":false,"name":"","id":-7,"ratio":16777217}"#),
        Sample(
            Samples.Integers.self,
            #"{"a":-128,"b":32767,"c":1.0,"d":9223372036854775807,"e":170141183460469231731687303715884105727}"#,
            #"{"f":255,"g":0,"h":4e9,"i":18446744073709551615,"j":340282366920938463463374607431768211455,"k":-0}"#),
        Sample(
            Samples.Foundations.self,
            #"{"date":1e3,"data":"AQID","url":"https://h/a?b=ü","decimal":0.1,"dates":[1,2.5,-3e2]}"#,
            #"{"date":-1.5,"data":"","url":"a","decimal":12345678901234567890.5,"dates":[]}"#),
        Sample(
            Samples.Nested.self,
            #"{"list":[{"id":1,"name":"n","isActive":true,"score":0},null],"grid":[[],[1,2]],"table":{"a":1,"b":null}}"#,
            #"{"list":[],"grid":[[0.5]],"table":{"firstName":3},"numbered":{"1":"a"},"tables":{"x":{"yZ":true}}}"#),
        Sample(
            Samples.Enums.self,
            #"{"color":"red","colors":["green","blue"],"shape":{"circle":{"radius":1}},"byColor":["red",1]}"#,
            #"{"colors":[],"shape":{"square":{"_0":3}}}"#, #"{"colors":["red"],"shape":{"none":{}}}"#),
        Sample(
            Samples.AnyValue.self, #"{"a":[1,1.5,true,null,"x",{"bC":[]}],"b":1e3}"#, "1", "\"x\"", "null", "[[[]]]"),
        Sample([String: Double].self, #"{"a":1,"snakeCase":2.5}"#, #"{"inf":"+","é":1,"e\u0301":2}"#, "{}"),
        Sample([Samples.Flat].self, #"[{"id":1,"name":"n","isActive":true,"score":0}]"#, "[]"),
        Sample(JSONValue.self, #"{"a":[1,1.5,true,null,"x",{"bC":[]}],"b":12345678901234567890}"#, "1.0"),
        Sample(Int?.self, "1", "null"), Sample(String.self, "\"\\ud83d\\ude00\"", "\"a\""),
        Sample(
            [Double].self, "[1.5,5e-324,-0.0,1e15,1e16,1e21]",
            "[4611686018427387904,9007199254740993,1.7976931348623157e308]", "[\"+\",\"-\",\"\"]"),
        Sample([Float].self, "[16777217,1e-30,3.4e38,0.1,1e10,-0.0]", "[\"+\",\"-\",\"\"]"),
        Sample([Bool].self, "[true,false]"),
        Sample([Decimal].self, "[0.1,-12]", "[1e3,12345678901234567890123456789012345678,1e-20,1e120]"),
    ]

    /// The settings of an encoder.
    enum Settings: CaseIterable {
        case standard, snake, custom, numbers

        var encoder: JSONEncoder {
            let encoder = JSONEncoder()
            switch self {
            case .standard:
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                encoder.userInfo = CodingUserInfoKey(rawValue: "key").map { [$0: "value"] } ?? [:]
            case .snake:
                encoder.keyEncodingStrategy = .convertToSnakeCase
                encoder.dateEncodingStrategy = .iso8601
            case .custom:
                encoder.dateEncodingStrategy = .custom { date, encoder in
                    guard date.timeIntervalSinceReferenceDate >= 0 else { return }
                    try "\(encoder.codingPath.map(\.stringValue))".encode(to: encoder)
                }
                encoder.dataEncodingStrategy = .custom { data, encoder in
                    var container = encoder.unkeyedContainer()
                    try container.encode(contentsOf: data)
                }
            case .numbers:
                encoder.dateEncodingStrategy = .millisecondsSince1970
                encoder.dataEncodingStrategy = .deferredToData
                encoder.nonConformingFloatEncodingStrategy =
                    .convertToString(positiveInfinity: "+", negativeInfinity: "-", nan: "")
            }
            return encoder
        }
    }

    @Test(arguments: samples, Settings.allCases)
    func `a value is that of the text of JSONEncoder`(sample: Sample, settings: Settings) throws {
        for text in sample.texts {
            let result = try #require(sample.compare(Data(text.utf8), settings.encoder), "\(text)")
            #expect(result.difference == nil)
        }
    }

    @Test(arguments: samples) func `a type is encoded without a text`(sample: Sample) throws {
        #expect(try #require(sample.compare(Data(sample.texts[0].utf8), JSONEncoder())).isMade)
    }

    @Test(arguments: samples, Settings.allCases)
    func `no random value differs from that of JSONEncoder`(sample: Sample, settings: Settings) {
        var documents = RandomDocuments(like: sample.texts)
        let encoder = settings.encoder
        for _ in 0..<Effort.rounds(150, soaking: 14_000) {
            let text = documents.next()
            let difference = sample.compare(Data(text), encoder)?.difference
            #expect(difference == nil, "\(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test(arguments: Settings.allCases)
    func `containers that are used in any way give the value of JSONEncoder`(settings: Settings) throws {
        let encoder = settings.encoder
        let branches = Sample.compare([Branches(), Branches()], encoder)
        #expect(branches.difference == nil)
        #expect(branches.isMade)
        let derived = Derived()
        #expect(!Sample.compare(derived, encoder).isMade && !Sample.compare(Continued(), encoder).isMade)
        #expect(try JSONValue(encoding: derived, using: encoder) == ["extra": [1], "super": ["id": 3]])
        #expect(Sample.compare(Nothing(), encoder) == (false, nil))
        #expect(Sample.compare(["a": Nothing()], encoder) == (true, nil))
    }

    @Test(arguments: [
        "name", "firstName", "aB", "userID", "myURLProperty", "iPhone", "_private", "trailing_", "HTML", "A", "", "a1B",
        "aÄb", "ÄB", "with space", "one2Three", "a_bC", "ABc", "isÉ",
    ]) func `a name is converted as by JSONEncoder`(name: String) throws {
        let encoder = Settings.snake.encoder
        let result = Sample.compare(Named(name: name), encoder)
        #expect(result.isMade && result.difference == nil)
    }

    @Test(arguments: Settings.allCases) func `names that look the same keep their bytes`(settings: Settings) {
        let values = [Named(name: "é"), Named(name: "e\u{301}"), Named(name: "é")]
        #expect(Sample.compare(values, settings.encoder) == (true, nil))
    }

    @Test func `an error is that of JSONEncoder, with its coding path`() throws {
        let value = ["a": [1, Double.nan]]
        let expected = #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
        let error = #expect(throws: EncodingError.self) { try RequestBody.json(encoding: value) }
        #expect(try "\(#require(error))" == "\(#require(expected))")
        #expect(throws: EncodingError.self) { try RequestBody.json(encoding: Nothing()) }
    }

    @Test func `an error that a type catches is left to JSONEncoder`() {
        #expect(!Sample.compare(Caught(value: Double.nan), JSONEncoder()).isMade)
        #expect(!Sample.compare(Caught(value: [Double.nan]), JSONEncoder()).isMade)
        #expect(Sample.compare(Caught(value: 1), JSONEncoder()) == (true, nil))
    }

    @Test func `a value that is nested too deeply is refused as its text is`() throws {
        var value = Samples.AnyValue.null
        for _ in 0..<JSONTape.maximumDepth { value = .array([value]) }
        #expect(Sample.compare(value, JSONEncoder()) == (true, nil))
        let deeper = Samples.AnyValue.array([value])
        #expect(!Sample.compare(deeper, JSONEncoder()).isMade)
        #expect(throws: RequestError.self) { try RequestBody.json(encoding: deeper) }
    }

    @Test func `an encoder that converts names by a function, or is a subclass, is not replaced`() {
        let converting = JSONEncoder()
        converting.keyEncodingStrategy = .custom { $0.last ?? PlaceKey(stringValue: "") }
        #expect(EncodingSettings(of: converting) == nil && EncodingSettings(of: Subclass()) == nil)
    }

    // MARK: Types

    /// A type that uses its containers in every way.
    private struct Branches: Encodable {
        func encode(to encoder: any Encoder) throws {
            var first = encoder.container(keyedBy: Samples.AnyKey.self)
            try first.encode(1, forKey: key("again"))
            try first.encode("2", forKey: key("again"))
            try first.encodeNil(forKey: key("none"))
            try first.encodeIfPresent(nil as Int?, forKey: key("missing"))
            var second = encoder.container(keyedBy: Samples.AnyKey.self)
            let path = encoder.codingPath.map { "\($0.stringValue) \($0.intValue ?? -1)" }
            try second.encode("\(path) \(encoder.userInfo.values)", forKey: key("path"))
            var nested = first.nestedContainer(keyedBy: Samples.AnyKey.self, forKey: key("nested"))
            try nested.encode("\(nested.codingPath.map(\.stringValue))", forKey: key("path"))
            var items = first.nestedUnkeyedContainer(forKey: key("items"))
            try list(in: &items)
            try second.encode(items.count, forKey: key("count"))
            try items.encode(["é": UInt8(1)])
            var replaced = first.nestedUnkeyedContainer(forKey: key("replaced"))
            try replaced.encode(1)
            try first.encode(2, forKey: key("replaced"))
        }

        private func list(in items: inout any UnkeyedEncodingContainer) throws {
            try items.encodeNil()
            var inner = items.nestedUnkeyedContainer()
            var object = items.nestedContainer(keyedBy: Samples.AnyKey.self)
            try items.encode(Int16(3))
            try inner.encode("\(inner.codingPath.map(\.stringValue)) \(items.count)")
            try object.encode(Date(timeIntervalSinceReferenceDate: 0.5), forKey: key("date"))
        }

        private func key(_ name: String) -> Samples.AnyKey { Samples.AnyKey(stringValue: name) }
    }

    /// A type that asks for a nested container twice.
    private struct Continued: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Samples.AnyKey.self)
            for name in ["a", "b"] {
                var nested = container.nestedContainer(
                    keyedBy: Samples.AnyKey.self, forKey: Samples.AnyKey(stringValue: "nested"))
                try nested.encode(1, forKey: Samples.AnyKey(stringValue: name))
            }
        }
    }

    private class Base: Encodable {
        let id = 3
    }

    private final class Derived: Base {
        private enum Keys: String, CodingKey { case extra }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode([1], forKey: .extra)
            try super.encode(to: container.superEncoder())
        }
    }

    private struct Caught<Value: Encodable>: Encodable {
        let value: Value

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Samples.AnyKey.self)
            try? container.encode(value, forKey: Samples.AnyKey(stringValue: "a"))
        }
    }

    private struct Named: Encodable {
        let name: String

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Samples.AnyKey.self)
            try container.encode([name: 1], forKey: Samples.AnyKey(stringValue: name))
        }
    }

    private struct Nothing: Encodable {
        func encode(to encoder: any Encoder) throws {}
    }

    private final class Subclass: JSONEncoder, @unchecked Sendable {}
}
