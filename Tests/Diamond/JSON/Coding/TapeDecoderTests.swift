import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("Decodable values from a tape") struct TapeDecoderTests {
    typealias Samples = DecodableSamples

    /// A type with texts that it is decoded from.
    struct Sample: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let texts: [String]
        /// Returns whether the value came from the tape, and how it differs from that of `JSONDecoder`.
        let compare: @Sendable (Data, JSONDecoder) -> (isTaped: Bool, difference: String?)

        init<Value: Decodable & Equatable & SendableMetatype>(_ type: Value.Type, _ texts: String...) {
            testDescription = "\(type)"
            self.texts = texts
            compare = { data, decoder in
                guard let value = decoder.tapedValue(of: type, from: data) else { return (false, nil) }
                do {
                    let expected = try decoder.decode(type, from: data)
                    // NaN is not equal to itself, and dictionaries have no order.
                    let isEqual = value == expected || "\(value)".sorted() == "\(expected)".sorted()
                    return (true, isEqual ? nil : "\(value) is not \(expected)")
                } catch { return (true, "\(value) instead of \(error)") }
            }
        }
    }

    static let samples = [
        Sample(
            Samples.Flat.self,
            #"{"id":1,"name":"Ä\u00e9\n😀","isActive":true,"score":1.25e2,"ratio":0.1,"note":null,"firstName":"x"}"#,
            #"{"firstName":"y","note":"a","score":-0.0,"other":[{"id":2}],"isActive":false,"name":"","id":-7}"#,
            #"{"id":12,"name":"a","is_active":true,"score":3,"first_name":"snake","_note_":"under"}"#),
        Sample(
            Samples.Integers.self,
            #"{"a":-128,"b":32767,"c":1.0,"d":9223372036854775807,"e":170141183460469231731687303715884105727}"#,
            #"{"f":255,"g":0,"h":4e9,"i":18446744073709551615,"j":340282366920938463463374607431768211455,"k":-0}"#),
        Sample(
            Samples.Foundations.self,
            #"{"date":1e3,"data":"AQID","url":"https://h/a?b=ü","decimal":0.1,"dates":[1,2.5,-3e2]}"#,
            #"{"date":"2026-01-02T03:04:05Z","data":[1,2],"url":"","decimal":12345678901234567890.5}"#),
        Sample(
            Samples.Nested.self,
            #"{"list":[{"id":1,"name":"n","isActive":true,"score":0},null],"grid":[[],[1,2]],"table":{"a":1,"b":null}}"#,
            #"{"list":[],"grid":[[0.5]],"table":{"first_name":3},"numbered":{"1":"a"},"tables":{"x":{"y_z":true}}}"#),
        Sample(
            Samples.Enums.self,
            #"{"color":"red","colors":["green","blue"],"shape":{"circle":{"radius":1}},"byColor":["red",1]}"#,
            #"{"colors":[],"shape":{"square":{"_0":3}}}"#, #"{"colors":["red"],"shape":{"none":{}}}"#),
        Sample(
            Samples.AnyValue.self, #"{"a":[1,1.5,true,null,"x",{"b_c":[]}],"b":1e3}"#, "1", "\"x\"", "null", "[[[]]]"),
        Sample(Samples.Derived.self, #"{"extra":[1,2],"super":{"id":3,"kind":"k"}}"#),
        Sample(Samples.Wrapped.self, #"{"count":3}"#, #"{"count":"x"}"#),
        Sample(
            Samples.Account.self, #"{"a":1,"b":[1,"x",null,{"c":2},[3]],"first_name":{"d_e":1},"é":null}"#),
        // A byte order mark within a string is a character of it.
        Sample([String].self, "[\"\u{FEFF}a\",\"\u{FEFF}\",\"\u{FEFF}\\n\",\"b\u{FEFF}\"]"),
        Sample([String: Double].self, #"{"a":1,"snake_case":2.5}"#, #"{"inf":"+","a":1,"a":2}"#, "{}"),
        Sample([Samples.Flat].self, #"[{"id":1,"name":"n","isActive":true,"score":0}]"#, "[]"),
        Sample(JSONValue.self, #"{"a":[1,1.5,true,null,"x",{"b_c":[]}],"b":12345678901234567890}"#, "1.0"),
        Sample(Int?.self, "1", "null"), Sample(String.self, "\"\\ud83d\\ude00\"", "\"a\""),
        Sample(Double.self, "1.5", "\"+\"", "5e-324", "0e5", "-0.0E12", "0e-5", "1e-400"),
        Sample(Float.self, "16777217", "1e-46", "0e5", "0.00e+1"),
        Sample([Bool].self, "[true,false]"),
        Sample([Decimal].self, "[0.1,-12]", "[1e3,12345678901234567890123456789012345678]"),
    ]

    /// The settings of a decoder.
    enum Settings: CaseIterable {
        case standard, snake, custom, numbers

        var decoder: JSONDecoder {
            let decoder = JSONDecoder()
            switch self {
            case .standard: decoder.userInfo = CodingUserInfoKey(rawValue: "key").map { [$0: "value"] } ?? [:]
            case .snake:
                decoder.keyDecodingStrategy = .convertFromSnakeCase
                decoder.dateDecodingStrategy = .iso8601
            case .custom:
                decoder.keyDecodingStrategy = .custom { path in
                    Samples.AnyKey(stringValue: "\(path.last?.stringValue ?? "")".replacing("_", with: ""))
                }
                decoder.dateDecodingStrategy = .custom { decoder in
                    Date(timeIntervalSince1970: Double(decoder.codingPath.count) + (try Double(from: decoder)))
                }
                decoder.dataDecodingStrategy = .custom { Data("\($0.codingPath.map(\.stringValue))".utf8) }
            case .numbers:
                decoder.dateDecodingStrategy = .millisecondsSince1970
                decoder.dataDecodingStrategy = .deferredToData
                decoder.nonConformingFloatDecodingStrategy =
                    .convertFromString(positiveInfinity: "+", negativeInfinity: "-", nan: "")
            }
            return decoder
        }
    }

    @Test(arguments: samples, Settings.allCases)
    func `a value from a tape equals that of JSONDecoder`(sample: Sample, settings: Settings) {
        let decoder = settings.decoder
        for text in sample.texts { #expect(sample.compare(Data(text.utf8), decoder).difference == nil) }
    }

    @Test(arguments: samples) func `a type is decoded from a tape with plain settings`(sample: Sample) {
        let data = Data(sample.texts[0].utf8)
        #expect(sample.compare(data, JSONDecoder()).isTaped)
    }

    @Test(arguments: samples, Settings.allCases)
    func `no random document has another value than that of JSONDecoder`(sample: Sample, settings: Settings) throws {
        var documents = RandomDocuments(like: sample.texts)
        let decoder = settings.decoder
        for _ in 0..<Effort.rounds(150, soaking: 14_000) {
            let text = documents.next()
            let difference = sample.compare(Data(text), decoder).difference
            #expect(difference == nil, "\(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test func `a name in snake case becomes that of JSONDecoder`() throws {
        let decoder = Settings.snake.decoder
        var random = SplitMix(state: Effort.seed)
        let characters = Array("__aaBz19-'é")
        let names = (0..<500).map { _ in String((0..<random.below(10)).map { _ in characters[random.below(11)] }) }
        for name in names + ["__", "_", "ID", "_id_", "user_ID_2b", "a__b", "HTTP_url", "x_1Y"] {
            let text = try JSONEncoder().encode([name: 1])
            let read = try #require(decoder.tapedValue(of: Names.self, from: text))
            #expect(try read.names == decoder.decode(Names.self, from: text).names, "\(name)")
        }
    }

    @Test(arguments: [
        #"{"list":[{"id":1,"name":2}],"grid":[],"table":{}}"#, #"{"list":[null,{}],"grid":[],"table":{}}"#,
        #"{"list":[],"grid":[[1,null]],"table":{}}"#, #"{"list":[],"grid":[],"table":{"a":300.5}}"#, "[]", "null", "{",
        #"{"list":[],"grid":[],"table":{"\ud800":1}}"#,
    ]) func `an error is that of JSONDecoder, with its coding path`(text: String) throws {
        let expected = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Samples.Nested.self, from: Data(text.utf8))
        }
        let error = #expect(throws: DecodingError.self) { try Response(text: text).decode(Samples.Nested.self) }
        #expect(try "\(#require(error))" == "\(#require(expected))")
    }

    @Test func `a container that outlives the decoding reads its text`() throws {
        let kept = try #require(JSONDecoder().tapedValue(of: Kept.self, from: Data(#"{"a":{"b":[1,"x"]}}"#.utf8)))
        var items = try kept.container.nestedContainer(
            keyedBy: Samples.AnyKey.self, forKey: Samples.AnyKey(stringValue: "a")
        )
        .nestedUnkeyedContainer(forKey: Samples.AnyKey(stringValue: "b"))
        #expect(try items.decode(Int.self) == 1)
        #expect(try items.decode(String.self) == "x")
        #expect(try kept.decoder.container(keyedBy: Samples.AnyKey.self).allKeys.map(\.stringValue) == ["a"])
    }

    @Test func `converted names that look the same keep their bytes`() throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let text = Data("[{\"é_a\":1},{\"e\u{301}_a\":1}]".utf8)
        let read = try #require(decoder.tapedValue(of: [Names].self, from: text)).flatMap(\.names)
        #expect(try read.isExactly(decoder.decode([Names].self, from: text).flatMap(\.names)))
    }

    @Test func `a decoder that reads more than JSON is not replaced`() {
        let relaxed = JSONDecoder()
        relaxed.allowsJSON5 = true
        let partial = JSONDecoder()
        partial.assumesTopLevelDictionary = true
        for decoder in [relaxed, partial, Subclass()] {
            #expect(decoder.tapedValue(of: [String: Int].self, from: Data("{}".utf8)) == nil)
        }
    }

    private struct Names: Decodable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: Samples.AnyKey.self).allKeys.map(\.stringValue)
        }
    }

    private struct Kept: Decodable {
        let decoder: any Decoder
        let container: KeyedDecodingContainer<Samples.AnyKey>

        init(from decoder: any Decoder) throws {
            self.decoder = decoder
            container = try decoder.container(keyedBy: Samples.AnyKey.self)
        }
    }

    private final class Subclass: JSONDecoder, @unchecked Sendable {}
}
