import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The Link field") struct WebLinkTests {
    private func response(_ fields: [String]) throws -> Response {
        let name = try #require(HTTPField.Name("Link"))
        let headers = HTTPFields(fields.map { HTTPField(name: name, value: $0) })
        return Response(status: .ok, headers: headers, url: "https://api.example.com/v1/cities?page=2")
    }

    /// The field, and the target of its link to the next page.
    static let fields: [(String, String?)] = [
        (#"<https://api.example.com/v1/cities?page=3>; rel="next""#, "https://api.example.com/v1/cities?page=3"),
        ("</cities?page=3>; rel=next", "https://api.example.com/cities?page=3"),
        ("<?page=3>;rel=next", "https://api.example.com/v1/cities?page=3"),
        ("<cities?a=1,2;b>; rel=\"next\"", "https://api.example.com/v1/cities?a=1,2;b"),
        (#"</a>; rel="prev", </b>; rel="next""#, "https://api.example.com/b"),
        (#"</a>; rel="last NEXT""#, "https://api.example.com/a"),
        (#"</a>; title="x, <y>; rel=\"next\""; rel=prev, </b>; rel=next"#, "https://api.example.com/b"),
        (#"</a>; REL="next""#, "https://api.example.com/a"),
        (#"</a>; rel=prev; rel=next"#, nil),
        (#"</a>; rel="next"; anchor="https://api.example.com/v1/cities?page=2""#, "https://api.example.com/a"),
        (#"</a>; rel="next"; anchor="/other""#, nil),
        (#"</a> rel="next""#, nil),
        ("</a", nil),
        ("</a>", nil),
        (#"/a; rel="next", </b>; rel=next"#, "https://api.example.com/b"),
        (#"</a b>; rel="prev", </b>; rel=next"#, "https://api.example.com/b"),
        (#",, </a>  ;  ;rel = "next" ,"#, "https://api.example.com/a"),
        (#"</a>; rel="next"#, "https://api.example.com/a"),
        ("", nil),
    ]

    @Test(arguments: fields)
    func `a response leads to the next page by its Link field`(_ field: String, _ target: String?) throws {
        #expect(try response([field]).link("next")?.target == target)
    }

    @Test func `several Link fields are one list, and the first link of a relation is used`() throws {
        let response = try response(["</a>; rel=next, </b>; rel=first", "</c>; rel=next; Type=\"x\\\"y\""])
        #expect(response.links.map(\.target) == ["a", "b", "c"].map { "https://api.example.com/\($0)" })
        #expect(response.link("NEXT")?.target == "https://api.example.com/a")
        #expect(response.links.last?.parameters == ["type": "x\"y"])
    }

    @Test func `the links of header fields have their targets as written`() throws {
        let headers = try response(["</a>; rel=next, <?p=2>; rel=\"last first\"", "<b>; rel=x; anchor=\"/c\""]).headers
        #expect(headers.links.map(\.target) == ["/a", "?p=2"])
        #expect(headers.links.last?.relations == ["last", "first"])
    }

    @Test func `the parser ends for random Link fields`() throws {
        var random = SystemRandomNumberGenerator()
        let pieces = Array(#"<>;,="\ relnextanchor/a"#.utf8)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? 0
            }
            _ = try response([String(decoding: bytes, as: UTF8.self)]).links
        }
    }
}
