import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The encoded form of a request") struct RequestJSONTests {
    static let full: Request = {
        var request = Request(
            "https://api.example.com/cities",
            method: .put,
            parameters: [
                "country": "DE", "page": 2, "tag": "a", "flag": JSONValue.null, "list": [1, "x", nil] as JSONValue,
            ],
            headers: [.accept: "application/json"],
            body: .json(["a": [1, 2.5, true]])
        )
        request.parameters.append("tag", "b")
        request.destination = .query
        request.cache = CachePolicy(.revalidate, maxAge: .seconds(60))
        request.cache.storesPost = true
        request.timeout = .milliseconds(1500)
        request.tags = ["towns", "cities"]
        request.lane = "images"
        request.bodyLimit = 1 << 20
        return request
    }()

    @Test(arguments: [(Int.max, 1 << 53), (-1, 0), (0, 0), (7, 7)])
    func `an encoded request has every body limit that a request may have`(limit: Int, told: Int) throws {
        var request = Request("http://h/")
        request.bodyLimit = limit
        #expect(request.bodyLimit == told)
        #expect(try Request(json: request.json()) == request)
    }

    @Test func `an encoded request keeps every digit of an integer`() throws {
        for text in ["12345678901234567891", "9223372036854775808"] {
            #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)).description == text)
        }
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data("9223372036854775807".utf8)) == .integer(.max))
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data("1e300".utf8)) == .number(1e300))
    }

    @Test func `an encoded request is a text that never changes`() throws {
        let text = """
            {"body":{"json":{"a":[1,2.5,true]}},"bodyLimit":1048576,"destination":"query","headers":[["Accept","application/json"]],\
            "lane":"images","maxAge":60,"method":"PUT","parameters":[["country","DE"],["page",2],["tag","a"],["flag",null],\
            ["list",[1,"x",null]],["tag","b"]],"policy":"revalidate","storesPost":true,"tags":["cities","towns"],"timeout":1.5,\
            "url":"https://api.example.com/cities","version":1}
            """
        #expect(try String(decoding: Self.full.json(), as: UTF8.self) == text)
    }

    @Test(arguments: [
        full, Request("http://h/"),
        Request("http://h/", method: .post, body: .form(["a": "ü", "b": JSONValue.null])),
        Request("http://h/", method: .post, body: .bytes(Data([0, 255]), contentType: "image/png")),
        Request("http://h/", method: .post, body: .bytes(Data("plain".utf8))),
        Request("http://h/", method: HTTPRequest.Method("BREW") ?? .get),
    ]) func `an encoded request decodes to an equal request, with any coder`(request: Request) throws {
        #expect(try Request(json: request.json()) == request)
        #expect(try JSONDecoder().decode(Request.self, from: JSONEncoder().encode(request)) == request)
    }

    @Test func `an encoded request decodes with a coder that is not JSON's`() throws {
        let request = Request("http://h/", parameters: ["a": 1.5, "b": "ü"], timeout: .milliseconds(1001))
        let bytes = try PropertyListEncoder().encode(request)
        #expect(try PropertyListDecoder().decode(Request.self, from: bytes) == request)
    }

    private static func nested(_ levels: Int) -> JSONValue {
        (0..<levels).reduce(1) { value, level in level.isMultiple(of: 2) ? .array([value]) : .object(["a": value]) }
    }

    private static func remembering(_ value: JSONValue) -> Request {
        var request = Request("http://h/")
        request.replay = ReplayPolicy(.durable, metadata: ["a": value])
        return request
    }

    @Test(arguments: [
        Request("http://h/", parameters: ["a": nested(128)]), remembering(nested(128)),
        Request("http://h/", method: .post, body: .json(nested(128))),
        Request("http://h/", method: .post, body: .form(["a": nested(128)])),
        Request("http://h/", method: .post, body: .json(nested(130))),
    ]) func `an encoded request decodes with JSON of the greatest allowed depth`(request: Request) throws {
        #expect(try Request(json: request.json()) == request)
        let snapshot = ConnectionSnapshot(request: request, state: .ready, result: nil)
        #expect(try ConnectionSnapshot(json: snapshot.json()).request == request)
    }

    @Test func `a request that could not be decoded again is not encoded`() {
        let deep = Request("http://h/", method: .post, body: .json(Self.nested(131)))
        var lenient = Request("http://h/")
        lenient.headers.append(HTTPField(name: .accept, lenientValue: Array("a\u{1}".utf8)))
        for (request, code) in [(deep, .malformedRequest), (lenient, .malformedHeader)]
            as [(Request, RequestError.Code)]
        {
            let error = #expect(throws: RequestError.self) { try request.json() }
            #expect(error?.code == code)
            #expect(throws: (any Error).self) { try JSONEncoder().encode(request) }
        }
    }

    @Test(arguments: [0, 1, 1001, 1_000_000_007, .max] as [Int64])
    func `an encoded request has times in milliseconds, within limits`(milliseconds: Int64) throws {
        let policy = CachePolicy.automatic(maxAge: .milliseconds(milliseconds))
        let request = Request("http://h/", cache: policy, timeout: .milliseconds(milliseconds))
        #expect(try Request(json: request.json()) == request)
        #expect(request.timeout == .milliseconds(min(milliseconds, Duration.longest)))
        #expect(CachePolicy.automatic(maxAge: .seconds(Int64.max)).maxAge == .milliseconds(Duration.longest))
    }

    @Test func `an encoded request may be short, and may use objects`() throws {
        let text = #"{"url":"http://h/","parameters":{"b":1,"a":2},"headers":{"Accept":"x"},"timeout":null}"#
        let request = try Request(json: Data(text.utf8))
        #expect(request.parameters == ["a": 2, "b": 1])
        #expect(request.headers[.accept] == "x")
        #expect(request.timeout == nil)
        #expect(request.method == .get)
    }

    @Test(arguments: [
        (#"{}"#, "key \"url\""), (#"[]"#, "the request is an array"), (#"{"url":1}"#, "key \"url\""),
        (#"{"url":"http://h","extra":1}"#, "key \"extra\""), (#"{"url":"http://h","version":2}"#, "key \"version\""),
        (#"{"url":"http://h","method":"G ET"}"#, "key \"method\""),
        (#"{"url":"http://h","policy":"maybe"}"#, "write one of automatic"),
        (#"{"url":"http://h","destination":"x"}"#, "write one of automatic, query"),
        (#"{"url":"http://h","parameters":[1]}"#, "key \"parameters\""),
        (#"{"url":"http://h","headers":[["A B","x"]]}"#, "a header's name is empty, or has a character"),
        (#"{"url":"http://h","headers":[["A","x\ny"]]}"#, "the header A"),
        (#"{"url":"http://h","headers":[["A",1]]}"#, "the header 'A'"),
        (#"{"url":"http://h","body":{}}"#, "json, jsonText, form, multipart, text, base64 and file"),
        (#"{"url":"http://h","body":{"base64":"*"}}"#, "key \"base64\" of the body"),
        (#"{"url":"http://h","body":{"json":1,"text":"x"}}"#, "key \"text\" of the body"),
        (#"{"url":"http://h","body":{"json":1,"contentType":"x"}}"#, "key \"contentType\""),
        (#"{"url":"http://h","maxAge":-1}"#, "key \"maxAge\""),
        (#"{"url":"http://h","storesPost":1}"#, "key \"storesPost\""),
        (#"{"url":"http://h","timeout":"1"}"#, "key \"timeout\""),
        (#"{"url":"http://h","maxAge":1e300}"#, "key \"maxAge\""),
        (#"{"url":"http://h",}"#, "line 1, column 19"), (#"{"url":"a","url":"b"}"#, "in one object twice"),
    ]) func `an invalid encoded request is refused with the key and the remedy`(text: String, part: String) {
        let error = #expect(throws: RequestError.self) { try Request(json: Data(text.utf8)) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func `an encoded request keeps ambiguous JSON text byte for byte`() throws {
        let text = #"{"id": 1e400}"#
        #expect(try RequestBody.json(text: text) == .bytes(Data(text.utf8), contentType: "application/json"))
        #expect(throws: RequestError.self) { try RequestBody.json(text: "{") }
    }

    @Test(arguments: [
        " {\"b\" : 1.0,\r\n\"a\":[1e2, \"\\u00e9\\/\"]}\n", "1.50", "\"u\u{308}\"", "{\"a\":null}", "[]",
    ]) func `a request sends JSON text byte for byte, and is identified by its value`(text: String) throws {
        var request = Request("http://h/", method: .query, body: try .json(text: text))
        for _ in 0..<2 {
            #expect(try Array(request.body?.encoded() ?? Data()) == Array(text.utf8))
            var other = request
            other.body = .json(try JSONValue.read(text.utf8))
            let forms = try [request, other].map { try CanonicalForm(of: $0, rules: KeyRules()).bytes }
            #expect(forms[0] == forms[1])
            // The second round has the request after encoding and decoding.
            request = try Request(json: try request.json())
        }
        let form = try JSONValue.read(try request.json())
        guard case .object(let members) = form else { return #expect(Bool(false)) }
        #expect(members["body"] == .object(["jsonText": .string(text)]))
    }

    @Test(arguments: ["{", "{\"a\": 1, \"a\": 2}", "1e400", ""])
    func `an encoded request with ambiguous JSON text is refused`(text: String) throws {
        let form = JSONValue.object(["url": "http://h/", "body": ["jsonText": .string(text)]])
        let error = #expect(throws: RequestError.self) { try Request(json: Data(try form.written())) }
        #expect(error?.message.contains("jsonText") == true)
    }

    @Test func `a JSON body accepts variables and any Encodable`() throws {
        let (country, page) = ("DE", UInt8(2))
        let parameters: Parameters = [
            "country": JSONValue(country), "page": JSONValue(page), "big": JSONValue(UInt64.max),
        ]
        #expect(parameters == ["country": "DE", "page": 2, "big": JSONValue(UInt64.max)])
        #expect(parameters["big"]?.description == "18446744073709551615")
        #expect(try RequestBody.json(encoding: ["a": [1, 2]]) == .json(["a": [1, 2]]))
    }

    @Test func `the description of a request has none of its secrets`() {
        let request = Request("http://me:s3cret@h/a?token=s3cret", headers: [.authorization: "s3cret"])
        #expect(request.description == "GET http://•••@h/a…")
        #expect(!"\(request) \(String(reflecting: request))".contains("s3cret"))
    }
}
