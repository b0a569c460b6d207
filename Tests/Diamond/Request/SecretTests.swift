import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A secret") struct SecretTests {
    private static var request: Request {
        var request = Request("http://h/", parameters: ["password": "s3cret"], headers: [.cookie: "s3cret"])
        request.credentials = [.bearer(.unnamed("s3cret")), .parameter("key", .secret("maps"))]
        return request
    }

    @Test func `is absent from the text of a response`() throws {
        var headers: HTTPFields = [.setCookie: "sid=s3cret"]
        headers[.contentType] = "text/plain"
        let response = Response(
            status: .ok, headers: headers, body: Data("s3cret".utf8), url: "https://me:s3cret@h/a?token=s3cret#s3cret")
        var dumped = ""
        dump(response, to: &dumped)
        for text in ["\(response)", "\(String(reflecting: response))", dumped] {
            #expect(!text.contains("s3cret") && text.contains("200 from network") && text.contains("h/a"), "\(text)")
        }
    }

    @Test func `prints its name or a placeholder`() {
        for secret in [Secret.secret("maps"), .unnamed("s3cret")] {
            var dumped = ""
            dump(secret, to: &dumped)
            let shown = ["\(secret)", String(reflecting: secret), String(describing: Optional(secret)), dumped]
            #expect(shown.allSatisfy { !$0.contains("s3cret") })
            #expect(shown.allSatisfy { $0.contains(secret.name ?? "•••") })
        }
    }

    @Test func `is absent from the text of its request`() throws {
        var dumped = ""
        dump(Self.request, to: &dumped)
        let shown = ["\(Self.request)", String(reflecting: Self.request), dumped, "\([Self.request])"]
        #expect(shown.allSatisfy { !$0.contains("s3cret") }, "\(shown)")
        #expect(dumped.contains("maps"))
    }

    @Test func `is absent from the text of a transport request`() {
        let url = "https://s3cret:s3cret@h/a?password=s3cret"
        let body = Data("s3cret".utf8)
        let request = TransportRequest(url: url, headers: [.authorization: "s3cret"], body: .bytes(body))
        let response = TransportResponse(status: .ok, headers: [.setCookie: "a=s3cret"], body: BodyStream(body))
        var (dumped, answered) = ("", "")
        dump(request, to: &dumped)
        dump(response, to: &answered)
        let shown = [
            "\(request)", String(reflecting: request), dumped, "\([request])", "\(response)",
            String(reflecting: response), answered, "\([response])",
        ]
        #expect(shown.allSatisfy { !$0.contains("s3cret") && !$0.contains("115") }, "\(shown)")
        #expect("\(request)" == "GET https://•••@h/a…" && "\(response)" == "HTTP/1.1 200")
        #expect(dumped.contains("Authorization") && answered.contains("Set-Cookie"))
    }

    @Test func `a secret with a name is encoded as its name`() throws {
        var request = Request("http://h/")
        request.credentials = [
            .bearer(.secret("github-token")), .parameter("api_key", .secret("maps")), .header(.cookie, .secret("c")),
        ]
        let text = String(decoding: try request.json(), as: UTF8.self)
        #expect(
            text == """
                {"credentials":[{"header":"Authorization","prefix":"Bearer ","secret":"github-token"},\
                {"parameter":"api_key","secret":"maps"},{"header":"Cookie","secret":"c"}],"method":"GET",\
                "url":"http://h/","version":1}
                """
        )
        #expect(try Request(json: Data(text.utf8)) == request)
    }

    @Test func `a secret without a name keeps its request from being encoded`() {
        let error = #expect(throws: RequestError.self) { try Self.request.json() }
        #expect(error?.code == .unnamedSecret)
        #expect(error?.message.contains("s3cret") == false)
        #expect(throws: (any Error).self) { try JSONEncoder().encode(Self.request) }
    }

    @Test(arguments: [
        (#"{"url": "http://h/", "credentials": 1}"#, "write an array"),
        (#"{"url": "http://h/", "credentials": [1]}"#, "write an object"),
        (#"{"url": "http://h/", "credentials": [{"header": "A"}]}"#, "give the name of a secret"),
        (#"{"url": "http://h/", "credentials": [{"secret": "a", "header": "A B"}]}"#, "has a character"),
        (#"{"url": "http://h/", "credentials": [{"secret": "a", "parameter": "p", "header": "A"}]}"#, "not known here"),
        (#"{"url": "http://h/", "credentials": [{"secret": "a", "value": "s3cret"}]}"#, "not known here"),
        (#"{"url": "http://h/", "ignoring": "a"}"#, "write an array"),
        (#"{"url": "http://h/", "ignoring": [1]}"#, "write text only"),
    ]) func `an invalid encoded secret is refused with the remedy`(text: String, remedy: String) {
        let error = #expect(throws: RequestError.self) { try Request(json: Data(text.utf8)) }
        #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
    }
}
