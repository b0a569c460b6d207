import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The encoded form of a response") struct ResponseJSONTests {
    static let full: Response = {
        var response = Response(
            status: .ok, headers: [.contentType: "text/plain", .accept: "a", .vary: "b"], body: Data("täxt".utf8),
            source: .revalidated, url: "https://h/a?b=1")
        let start = Date(timeIntervalSince1970: 1_767_225_600.25)
        response.attempts = [
            Attempt(
                number: 1, startedAt: start, outcome: .failed(code: "timedOut", message: "late"),
                delay: .milliseconds(1050), reason: RetryReason(.interrupted, "broke")),
            Attempt(number: 2, startedAt: Date(timeIntervalSince1970: 1_767_225_601.35), outcome: .answered(.ok)),
        ]
        return response
    }()

    static let responses = [
        full, Response(status: 204), Response(status: HTTPResponse.Status(code: 999)),
        Response(status: .notFound, body: Data([0, 255]), source: .stale),
    ]

    @Test func `an encoded response is a text that never changes`() throws {
        let text = #"""
            {"attempts":[{"delay":1.05,"error":{"code":"timedOut","message":"late"},"number":1,\#
            "reason":{"code":"interrupted","message":"broke"},"startedAt":1767225600.25},\#
            {"number":2,"startedAt":1767225601.35,"status":200}],"body":{"text":"täxt"},\#
            "headers":[["Content-Type","text/plain"],["Accept","a"],["Vary","b"]],"source":"revalidated","status":200,\#
            "url":"https://h/a?b=1"}
            """#
        #expect(String(decoding: try Self.full.written.written(), as: UTF8.self) == text)
    }

    @Test(arguments: responses) func `an encoded response decodes to an equal response, with any coder`(
        response: Response
    ) throws {
        #expect(try JSONDecoder().decode(Response.self, from: JSONEncoder().encode(response)) == response)
        let list = try PropertyListEncoder().encode([response])
        #expect(try PropertyListDecoder().decode([Response].self, from: list) == [response])
    }

    @Test func `an encoded response has no Set-Cookie field`() throws {
        var response = Response(status: .ok, headers: [.setCookie: "session=s3cret", .age: "1"])
        let written = String(decoding: try response.written.written(), as: UTF8.self)
        #expect(!written.contains("s3cret") && !written.lowercased().contains("cookie"))
        response.headers[.setCookie] = nil
        #expect(try Response(written: response.written) == response)
    }

    @Test func `an encoded response has no credential, and no URL with a secret`() throws {
        var response = Response(status: .found, headers: [.age: "1", .location: "http://u:s3cret@h/"])
        response.headers.append(HTTPField(name: .contentLocation, value: "/x?access_token=s3cret"))
        response.headers.append(try HTTPField(checking: "X-Auth-Token", "s3cret"))
        response.url = "https://h/cb?a=1&access_token=s3cret"
        let written = String(decoding: try response.written.written(), as: UTF8.self)
        #expect(!written.contains("s3cret"))
        let read = try Response(written: response.written)
        #expect(read.headers == [.age: "1"] && read.url == "https://h/cb?a=1&access_token=•••")
    }

    @Test(arguments: [
        ("[]", "the response is an array"), ("{}", #"key "status""#), (#"{"status":99}"#, "from 100 to 999"),
        (#"{"status":"200"}"#, "from 100 to 999"), (#"{"status":200,"extra":1}"#, #"key "extra""#),
        (#"{"status":200,"body":{}}"#, "neither text nor base64"),
        (#"{"status":200,"body":"x"}"#, "the body is a string"),
        (#"{"status":200,"body":{"text":"a","base64":"YQ=="}}"#, #"key "base64" of the body"#),
        (#"{"status":200,"body":{"base64":"*"}}"#, "is not base64"), (#"{"status":200,"source":"x"}"#, "write one of"),
        (#"{"status":200,"headers":[["A B","x"]]}"#, "a header's name"),
        (#"{"status":200,"attempts":[{}]}"#, #"key "number" of an attempt"#),
        (#"{"status":200,"attempts":[{"number":0}]}"#, "from 1 on"),
        (#"{"status":200,"attempts":[{"number":1}]}"#, #"key "startedAt""#),
        (#"{"status":200,"attempts":[{"number":1,"startedAt":"x"}]}"#, "write seconds since 1970"),
        (#"{"status":200,"attempts":[{"number":1,"startedAt":1}]}"#, "is missing, and so is"),
        (#"{"status":200,"attempts":[{"number":1,"startedAt":1,"status":200,"reason":{}}]}"#, #"key "code""#),
    ]) func `an invalid encoded response is refused with the key and the remedy`(text: String, part: String) {
        let error = #expect(throws: RequestError.self) { try Response(written: JSONValue.read(Data(text.utf8))) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
}
