import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The charset of a response", .limit(minutes: 5)) struct CharsetTests {
    private struct City: Decodable, Hashable {
        let name: String
    }

    private static func response(_ type: String?, _ body: [UInt8]) -> Response {
        Response(status: .ok, headers: type.map { [.contentType: $0] } ?? [:], body: Data(body))
    }

    /// The content type, the bytes, and their text.
    static let texts: [(type: String?, bytes: [UInt8], text: String)] = [
        ("text/plain; charset=iso-8859-1", [0x63, 0xe9], "c\u{e9}"),
        ("text/plain;Charset=\"ISO-8859-1\"", [0xe9], "\u{e9}"),
        ("text/plain; charset=Latin1 ; format=flowed", [0xe9], "\u{e9}"),
        ("text/plain; charset=us-ascii", [0x41, 0x80], "A\u{20ac}"),
        ("text/plain; charset=windows-1252", [0x80, 0x81, 0x9f, 0xa0], "\u{20ac}\u{81}\u{178}\u{a0}"),
        ("text/plain; charset=utf-16", [0xfe, 0xff, 0x20, 0xac], "\u{20ac}"),
        ("text/plain; charset=utf-16", [0xff, 0xfe, 0xac, 0x20], "\u{20ac}"),
        ("text/plain; charset=utf-16", [0xac, 0x20], "\u{20ac}"),
        ("text/plain; charset=utf-16le", [0x3d, 0xd8, 0x00, 0xde], "\u{1f600}"),
        ("text/plain; charset=utf-16be", [0xd8, 0x3d, 0xde, 0x00], "\u{1f600}"),
        ("text/plain; charset=utf-16be", [0xd8, 0x3d, 0x00, 0x41, 0x00], "\u{fffd}A\u{fffd}"),
        ("text/plain; charset=utf-16", [], ""),
        ("text/plain; charset=iso-8859-1", [0xef, 0xbb, 0xbf, 0xc3, 0xa9], "\u{e9}"),
        (nil, [0xef, 0xbb, 0xbf, 0xc3, 0xa9], "\u{e9}"),
        ("text/plain; charset=utf-8", [0xef, 0xbb, 0xbf, 0x41, 0xef, 0xbb, 0xbf], "A\u{feff}"),
        ("text/plain", [0xfe, 0xff, 0x20, 0xac], "\u{20ac}"),
        ("text/plain; charset=utf-8", [0xff, 0xfe, 0xac, 0x20], "\u{20ac}"),
        ("text/plain; charset=klingon", [0xef, 0xbb, 0xbf], ""),
        ("text/plain", [0xef, 0xbb], "\u{fffd}"),
        ("text/plain; charset=iso-8859-2", [0xb9], "\u{161}"),
        ("text/plain; charset=windows-1251", [0xcf], "\u{41f}"),
        ("text/plain; charset=shift_jis", [0x82, 0xa0], "\u{3042}"),
        // The bytes are malformed in this charset.
        ("text/plain; charset=shift_jis", [0x41, 0x82], "A\u{fffd}"),
        (nil, [0xc3, 0xa9, 0xe9], "\u{e9}\u{fffd}"),
        ("text/plain", [0xc3, 0xa9], "\u{e9}"),
        ("text/plain; charset=UTF-8", [0xc3, 0xa9], "\u{e9}"),
        ("text/plain; charset=\"utf-8\"", [0xc3, 0xa9], "\u{e9}"),
        ("text/plain; charset=klingon", [0xc3, 0xa9], "\u{e9}"),
        ("text/plain; charset", [0xc3, 0xa9], "\u{e9}"),
        ("text/plain; charset=; charset=latin1", [0xe9], "\u{e9}"),
        ("charset=latin1", [0xc3, 0xa9], "\u{e9}"),
        ("text/plain; x-charset=latin1", [0xc3, 0xa9], "\u{e9}"),
        ("text/plain; charset=latin1; charset=utf-8", [0xe9], "\u{e9}"),
        ("text/plain; a=\"b;charset=utf-8\"; charset=latin1", [0xe9], "\u{e9}"),
        ("text/plain; a=\"\\\";charset=utf-8\";charset=latin1", [0xe9], "\u{e9}"),
        ("text/plain; a=\"b", [0xc3, 0xa9], "\u{e9}"),
    ]

    @Test(arguments: texts) func `is used to decode the text of a response`(
        type: String?, bytes: [UInt8], text: String
    ) {
        // Scalars are compared, because strings in different normal forms are equal.
        #expect(Array(Self.response(type, bytes).text.unicodeScalars) == Array(text.unicodeScalars))
    }

    @Test(arguments: [
        ("application/json; charset=iso-8859-1", String.Encoding.isoLatin1),
        ("application/geo+json;charset=\"Windows-1252\"", .isoLatin1), ("text/plain; charset=latin1", .isoLatin1),
        ("application/json; charset=utf-16", .utf16), ("application/json; charset=utf-16be", .utf16BigEndian),
        ("application/json; charset=utf-8", .utf8), ("application/json", .utf8),
        ("application/json; charset=iso-8859-1", .utf8), ("application/json; charset=us-ascii", .utf8),
    ]) func `is used to decode JSON`(type: String, encoding: String.Encoding) throws {
        let data = try #require("{\"name\": \"K\u{f6}ln\"}".data(using: encoding))
        #expect(try Self.response(type, Array(data)).decode(City.self) == City(name: "K\u{f6}ln"))
    }

    @Test(arguments: [nil, "application/json", "application/json; charset=utf-8", "application/json; charset=latin1"])
    func `a byte order mark before JSON is ignored`(type: String?) throws {
        for (mark, encoding) in [
            ([0xef, 0xbb, 0xbf], .utf8), ([0xfe, 0xff], .utf16BigEndian), ([0xff, 0xfe], .utf16LittleEndian),
        ] as [([UInt8], String.Encoding)] {
            let data = try #require("{\"name\": \"K\u{f6}ln\"}".data(using: encoding))
            let response = Self.response(type, mark + Array(data))
            #expect(try response.decode(City.self) == City(name: "K\u{f6}ln"))
            #expect(try response.decode(JSONValue.self) == ["name": "K\u{f6}ln"])
        }
    }

    private struct Bytes: ResponseDecoder {
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            try #require(Array(data) as? Value)
        }
    }

    @Test(
        arguments: [
            ("application/json; charset=iso-8859-1", [0xc3, 0xa9]), ("text/csv; charset=iso-8859-1", [0xe9]),
        ] as [(String, [UInt8])]) func `a decoder receives JSON as UTF-8, and other types in their own charset`(
            type: String,
            decoded: [UInt8]
        ) throws
    {
        let response = Self.response(type, [0xe9])
        #expect(try response.decode([UInt8].self, using: Bytes()) == decoded)
        #expect(response.body == Data([0xe9]))
    }

    @Test func `applies to a server's response, and to the stored response`() async throws {
        let temporary = TemporaryStore()
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            let head = [
                "HTTP/1.1 200 OK", "Content-Type: application/json; charset=ISO-8859-1", "Cache-Control: max-age=3600",
                "Connection: close", "\r\n",
            ]
            connection.write(Array(head.joined(separator: "\r\n").utf8))
            connection.write(Array(#"{"name": "K"#.utf8) + [0xf6] + Array(#"ln"}"#.utf8))
        }
        let engine = Engine(Engine.Configuration(store: temporary.store))
        let request = Request(server.base)
        #expect(try await engine.send(request.decoding(City.self)) == City(name: "K\u{f6}ln"))
        let stored = try await engine.send(request)
        #expect(stored.source == .cache && stored.text == "{\"name\": \"K\u{f6}ln\"}")
        #expect(try await engine.send(request.decoding(City.self)) == City(name: "K\u{f6}ln"))
        await engine.close()
    }
}
