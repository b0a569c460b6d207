import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("Writing JSON") struct JSONWriterTests {
    @Test(arguments: [
        #"{"b":[1,-0,1.50,2e3,{"d":null,"c":true}],"a":"é\n","\u0062b":"\u00e9","":{}}"#,
        "[0.1,0.0001,0.00001,123456789012345.5,0.30000000000000004,1.0,-0.0,-12.125,100.10,1E2,0.5e1]",
        "[9007199254740993,12345678901234567890.5,1e-400,5e-324,1.7976931348623157e308]",
        #"{"😂":1,"\ue000":2,"\ud83d\ude02a":3,"é":4,"e\u0301":5,"aaaaaaaab":6,"aaaaaaaa":7,"aaaaaaaa\u0000":8}"#,
        #"{"x":{"a":1,"a":2},"y":[{"\ud800":1},1e400]}"#,
    ]) func `a scanned text is written as its value`(text: String) throws {
        var documents = RandomDocuments(like: [text])
        try compare(Array(text.utf8))
        for _ in 0..<Effort.rounds(300, soaking: 30_000) { try compare(documents.next()) }
    }

    private func compare(_ text: [UInt8]) throws {
        guard let value = try? JSONValue(reading: text, isolatesFaults: true) else { return }
        let written = try text.withUnsafeBytes { bytes in
            let tape = try JSONTape(scanning: bytes, ambiguities: .isolated)
            var writer = JSONWriter()
            withExtendedLifetime(tape) { writer.write(tape.root) }
            return try writer.text()
        }
        let expected = try JSONWriter.text(of: value)
        #expect(written == expected, "seed \(Effort.seed): \(String(decoding: text, as: UTF8.self))")
    }

    @Test func `members may be written in any order, and repeated names are found`() throws {
        let names = ["b", "a\"", "a\n", "aaaaaaaab", "aaaaaaaa", "", "é", "\u{E000}", "😂"]
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(200, soaking: 20_000) {
            let chosen = (0..<random.below(24)).map { _ in names[random.below(names.count)] }
            var writer = JSONWriter()
            let object = writer.beginObject()
            for (index, name) in chosen.enumerated() {
                let count = random.below(index + 1)
                let isFound = writer.hasMember(name, amongFirst: count, of: object)
                #expect(isFound == chosen[..<count].contains(name))
                if index % 2 == 0 { writer.beginMember(name) } else { writer.beginMember(JSONName(name)) }
                writer.write(true)
            }
            let areDifferent = Set(chosen).count == chosen.count
            #expect(writer.endObject(object) == areDifferent, "seed \(Effort.seed): \(chosen)")
            let members = Dictionary(chosen.map { ($0, JSONValue.bool(true)) }) { $1 }
            if areDifferent { #expect(try writer.text() == JSONWriter.text(of: .object(members))) }
        }
    }

    @Test func `an object can be removed, open or ended, also within another one`() throws {
        var writer = JSONWriter()
        let outer = writer.beginObject()
        writer.beginMember("a")
        for isEnded in [false, true] {
            let inner = writer.beginObject()
            writer.beginMember("b")
            writer.write(true)
            if isEnded { writer.endObject(inner) }
            writer.remove(inner)
        }
        writer.writeNull()
        writer.endObject(outer)
        #expect(try writer.text() == Array(#"{"a":null}"#.utf8))
    }

    @Test func `a number that is not finite is forgotten with its object, but not with a later one`() throws {
        var writer = JSONWriter()
        let array = writer.beginArray()
        writer.beginElement()
        let object = writer.beginObject()
        writer.beginMember("a")
        writer.write(.infinity)
        writer.endObject(object)
        writer.beginElement()
        writer.remove(writer.beginObject())
        #expect { try writer.text() } throws: { ($0 as? JSONError)?.code == .notFinite }
        writer.remove(object)
        writer.writeNull()
        writer.endArray(array)
        #expect(try writer.text() == Array("[null]".utf8))
    }

    @Test(arguments: [0, 0.5, -1.5e9, 1.7e9 + 0.123456, -6.5e10, 3e13, -3e13, 1e15, .infinity, .nan])
    func `a date is written as its text`(seconds: Double) throws {
        let date = Date(timeIntervalSince1970: seconds)
        var writer = JSONWriter()
        writer.write(date)
        #expect(try writer.text() == JSONWriter.text(of: InternetTime.text(date).map(JSONValue.string) ?? .null))
    }
}
