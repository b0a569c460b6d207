import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The fields that select a variant") struct VariantFieldsTests {
    private let rules = KeyRules()

    @Test(
        arguments: [
            (.acceptLanguage, "de, en", "DE,en", true), (.acceptLanguage, "de, en", "en, de", false),
            (.acceptLanguage, "de;q=0.5", "de; q=0.5", true), (.acceptLanguage, "de", "de-AT", false),
            (.accept, "a/b , c/d", "a/b,c/d", true), (.userAgent, "a", "A", false), (.userAgent, "a  b", "a b", false),
            (.userAgent, " a", "a\t", true),
            (.userAgent, "a, b", "b, a", false), (.cookie, "a=b,,c", "a=b,c", false),
            (.accept, "a/b;x=\"c, d\"", "a/b;x=\"c,d\"", false), (.cookie, "s=1", "s=1", true),
            (.cookie, "s=1", "s=2", false),
            (.userAgent, "a", nil, false), (.userAgent, "", nil, false),
        ] as [(HTTPField.Name, String, String?, Bool)])
    func `are equal for values that differ only in their form`(
        name: HTTPField.Name, value: String, other: String?, isEqual: Bool
    ) throws {
        let fields = try #require(VariantFields([name.canonicalName]))
        let lines = fields.lines(for: [name: value], rules)
        #expect((lines == fields.lines(for: other.map { [name: $0] } ?? [:], rules)) == isEqual)
    }

    @Test func `join repeated lines of a field`() throws {
        let fields = try #require(VariantFields(["accept"]))
        let one: HTTPFields = [.accept: "a/b, c/d"]
        var two: HTTPFields = [.accept: "a/b"]
        two.append(HTTPField(name: .accept, value: "c/d"))
        #expect(fields.lines(for: one, rules) == fields.lines(for: two, rules))
    }

    @Test func `contain no credential, and no line feed of a value`() throws {
        let fields = try #require(VariantFields(["cookie", "x-a"]))
        let name = try #require(HTTPField.Name("X-A"))
        let text = String(decoding: fields.lines(for: [.cookie: "s3cret=1", name: "a\tb%0A"], rules), as: UTF8.self)
        #expect(!text.contains("s3cret"))
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count == 3)
    }

    @Test(
        arguments: [
            ([:], "key"), ([.vary: ""], "key"), ([.vary: "a"], "key"), ([.vary: "*"], "unknown"),
            ([.vary: "a, *"], "unknown"), ([.vary: "B, a , b"], "b"), ([.vary: "d,B"], "b d"),
            ([.vary: "c, b"], "unknown"),
        ] as [(HTTPFields, String)])
    func `are read from Vary, without the fields that are in the key`(headers: HTTPFields, expected: String) {
        let vary = VariantFields.vary(headers) { $0 == "a" ? .key : $0 == "c" ? .unknown : .value }
        switch vary {
        case .key: #expect(expected == "key")
        case .unknown: #expect(expected == "unknown")
        case .fields(let fields): #expect(fields.names.joined(separator: " ") == expected)
        }
    }

    @Test func `are stored in up to four sets, the newest first`() throws {
        let sets = try ["a", "b", "c", "d", "e"].map { try #require(VariantFields([$0])) }
        var index = VariantIndex(sets[0], generation: 7)
        for fields in sets.dropFirst() { index = index.adding(fields) }
        #expect(index.sets == [sets[4], sets[3], sets[2], sets[1]])
        #expect(index.adding(sets[2]).sets == [sets[2], sets[4], sets[3], sets[1]])
        index = index.adding(variant: VariantSelection(text: "vary a 1,")).adding(
            VariantIndex.Confirmation(
                selection: VariantSelection(text: "vary a,"), variant: VariantSelection(text: "vary a 1,"),
                tag: "\"=,\""))
        for kind in CacheKind.allCases {
            let stored = index.stored(at: 1, kind: kind)
            #expect(VariantIndex(stored) == index)
            #expect(stored.isOf(kind))
        }
        #expect(VariantIndex(.stub(lifetime: 1)) == nil)
    }

    @Test func `have another row checksum than a response`() {
        let stored = StoredResponse.stub(lifetime: 1)
        var index = stored
        index.flags.insert(.variants)
        let checksums = [stored, index].map { response in
            Checksum.row(key: RequestKey(of: []), request: [], stored: response, bodySize: 0, digest: Data())
        }
        #expect(checksums[0] != checksums[1])
    }
}
