import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DiamondCurlCommand

@Suite("A request written as a curl command") struct CurlCommandWritingTests {
    private static var named: Request {
        var request = Request("http://h/", parameters: ["a": 1])
        request.credentials = [.bearer(.secret("github-token")), .parameter("key", .secret("maps-key"))]
        return request
    }

    private static func bearing(_ secret: Secret) -> Request {
        var request = Request("http://me:s3cret@h/")
        request.credentials = [.bearer(secret)]
        return request
    }

    private static var shellNames: Request {
        var request = Request("http://h/")
        request.credentials = zip(["a", "b", "c", "d"], ["user", "home", "path", "Home"])
            .map { .parameter($0, .secret($1)) }
        return request
    }

    private static var divided: Request {
        var request = Request("http://h/")
        request.headers[.cookie] = "a=s3cret; b=s3cret"
        return request
    }

    private static var filtered: Request {
        var request = Request("http://h/?a=1", parameters: ["filter": ["a": [["token": "s3cret"]]]])
        request.encoding.objects = .json
        return request
    }

    private static var listed: Request {
        var request = Request("http://h/?whatever=s3cret")
        request.credentials = [.header(.init("X-Whatever") ?? .te, .unnamed("s3cret"))]
        request.rules.secrets = ["whatever"]
        return request
    }

    @Test func `is written by an engine with its base URL and its headers`() throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.baseURL = "https://api.example.com/v1/"
        configuration.headers = [.userAgent: "App/1.0", .acceptLanguage: "de"]
        let engine = Engine(configuration)
        let command = try engine.curlCommand(of: Request("cities", parameters: ["page": 2]))
        #expect(command.hasPrefix("curl 'https://api.example.com/v1/cities?page=2'"))
        #expect(command.contains("-H 'User-Agent: App/1.0'"))
        let error = #expect(throws: ConnectionError.self) { try engine.curlCommand(of: Request("../../x")) }
        #expect(error?.code == .badRequest && error?.cause is RequestError)
    }

    @Test func `has variables for the fields that its engine declares secret`() throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.rules.secrets = ["X-Tenant", "tenant"]
        configuration.headers = [try #require(HTTPField.Name("X-Tenant")): "s3cret"]
        let engine = Engine(configuration)
        let command = try engine.curlCommand(of: Request("http://h/", parameters: ["tenant": "s3cret"]))
        #expect(!command.contains("s3cret"), "\(command)")
        #expect(command.contains("$"))
    }

    @Test(
        arguments: [
            (Request("http://H"), "curl 'http://h/'"),
            (Request("http://h/?a=1", parameters: ["b": "ü'"]), "curl 'http://h/?a=1&b=%C3%BC%27'"),
            (Request("http://h/", method: .head), "curl --head 'http://h/'"),
            (Request("http://h/", method: .delete), "curl -X DELETE 'http://h/'"),
            (Request("http://h/?a[]=1"), "curl --globoff 'http://h/?a[]=1'"),
            (Request("http://h/a/../b"), "curl 'http://h/b'"),
            (
                Request("http://h/", headers: [.accept: "a'b", .init("X-E") ?? .te: ""]),
                #"curl 'http://h/' -H 'Accept: a'\''b' -H 'X-E;'"#
            ),
            (
                Request("http://h/", method: .post, parameters: ["a": "@b"]),
                "curl 'http://h/' -H 'Content-Type: application/x-www-form-urlencoded' --data-raw 'a=%40b'"
            ),
            (
                Request("http://h/", method: .put, body: .json(["a": "it's"])),
                #"curl -X PUT 'http://h/' -H 'Content-Type: application/json' --data-raw '{"a":"it'\''s"}'"#
            ),
            (
                Request("http://h/", method: .post, body: .bytes(Data("-'\\%a\n\u{1B}".utf8) + [0, 255])),
                #"printf '\055\047\\%%a\n\033\000\377' | curl 'http://h/' -H 'Content-Type:' --data-binary @-"#
            ),
            (Request("http://h/", headers: [.contentLength: "3", .transferEncoding: "chunked"]), "curl 'http://h/'"),
            (
                Request("http://h/", headers: [.accept: "a\tb!"]),
                #"curl 'http://h/' -H "$(printf 'Accept: a\011b\041')""#
            ),
            (
                Request("http://h/", method: .post, body: .file(URL(filePath: "/a\tb"))),
                #"curl 'http://h/' -H 'Content-Type:' --data-binary "$(printf '@/a\011b')""#
            ),
        ])
    func `is written as one line with the options of curl`(request: Request, command: String) throws {
        #expect(try request.curlCommand() == command)
    }

    @Test(
        arguments: [
            (
                Request("http://h/", headers: [.authorization: "Bearer s3cret"]),
                #"curl 'http://h/' -H "Authorization: Bearer $AUTHORIZATION""#
            ),
            (
                Request("http://h/", headers: [.authorization: "s3cret s3cret", .init("X-Api-Key") ?? .te: "s3cret"]),
                #"curl 'http://h/' -H "Authorization: $AUTHORIZATION" -H "X-Api-Key: $X_API_KEY""#
            ),
            (
                Request("http://h/", headers: [.init("X-$Token`") ?? .te: "s3cret"]),
                #"curl 'http://h/' -H 'X-$Token`: '"$X_TOKEN""#
            ),
            (divided, #"curl 'http://h/' -H "Cookie: $COOKIE""#),
            (Request("http://me:s3cret@h/"), #"curl 'http://h/' -u "$USERINFO""#),
            (bearing(.unnamed("s3cret")), #"curl 'http://h/' -H "Authorization: Bearer $AUTHORIZATION""#),
            (bearing(.secret("github-token")), #"curl 'http://h/' -H "Authorization: Bearer $GITHUB_TOKEN""#),
            (named, #"curl "http://h/?a=1&key=$MAPS_KEY" -H "Authorization: Bearer $GITHUB_TOKEN""#),
            (shellNames, #"curl "http://h/?a=${SECRET_USER}&b=${SECRET_HOME}&c=${SECRET_PATH}&d=$SECRET_HOME_2""#),
            (filtered, #"curl "http://h/?a=1&filter=$FILTER""#),
            (listed, #"curl "http://h/?whatever=$WHATEVER" -H "X-Whatever: $X_WHATEVER""#),
            (
                Request("http://me:s3cret@h/", headers: [.authorization: "Basic s3cret"]),
                #"curl 'http://h/' -H "Authorization: Basic $AUTHORIZATION""#
            ),
            (
                Request("http://h/?token=s3cret&a=1&token=s3cret"),
                #"curl "http://h/?token=${TOKEN}&a=1&token=$TOKEN_2""#
            ),
            (
                Request("http://h/?a=$b!&user[password]=s3cret"),
                #"curl --globoff 'http://h/?a=$b!&user[password]='"$USER_PASSWORD""#
            ),
            (
                Request("http://h/", method: .post, parameters: ["a": 1, "password": "s3cret"]),
                #"curl 'http://h/' -H 'Content-Type: application/x-www-form-urlencoded' --data-raw "a=1&password=$PASSWORD""#
            ),
            (
                Request("http://h/", method: .post, body: .bytes(Data("pwd=s3cret'".utf8), contentType: form)),
                #"curl 'http://h/' -H 'Content-Type: application/x-www-form-urlencoded' --data-raw "pwd=$SECRET_PWD""#
            ),
            (
                Request("http://h/", method: .post, body: .bytes(Data("pass=s3cret&a=\n".utf8), contentType: form)),
                #"curl 'http://h/' -H 'Content-Type: application/x-www-form-urlencoded' --data-raw "$BODY""#
            ),
            (
                Request("http://h/", method: .post, body: .bytes(Data(" {\"pwd\":\"s3cret\"}".utf8))),
                #"curl 'http://h/' -H 'Content-Type:' --data-raw "$BODY""#
            ),
            (
                Request(
                    "http://h/", method: .post, headers: [.contentType: "text/plain"], body: .json(["token": "s3cret"])),
                #"curl 'http://h/' -H 'Content-Type: text/plain' --data-raw "$BODY""#
            ),
            (
                Request("http://h/", method: .post, body: .json(["a": [["password": "s3cret"]]])),
                #"curl 'http://h/' -H 'Content-Type: application/json' --data-raw "$BODY""#
            ),
            (
                Request(
                    "http://h/", method: .post,
                    body: .bytes(Data(#"{"a":1,"a":2,"pass":"s3cret"}"#.utf8), contentType: json)),
                #"curl 'http://h/' -H 'Content-Type: application/json' --data-raw "$BODY""#
            ),
        ])
    func `has variables for its credentials`(request: Request, command: String) throws {
        #expect(try request.curlCommand() == command)
    }

    static let form = "application/x-www-form-urlencoded"
    static let json = "application/json"

    @Test(
        arguments: [
            (Request("http://h/", method: .head, body: .json(1)), .malformedRequest), (Request("h"), .malformedURL),
            (Request("http://h/", method: .post, body: .file(URL(filePath: "/a\n"))), .malformedRequest),
        ] as [(Request, RequestError.Code)])
    func `is refused if no curl command expresses it`(request: Request, code: RequestError.Code) {
        let error = #expect(throws: RequestError.self) { try request.curlCommand() }
        #expect(error?.code == code)
    }

    @Test func `is refused if a header has an escape sequence of a terminal`() {
        var request = Request("http://h/")
        request.headers.append(HTTPField(name: .accept, lenientValue: Array("a\u{1B}[201~".utf8)))
        let error = #expect(throws: RequestError.self) { try request.curlCommand() }
        #expect(error?.code == .malformedHeader)
    }

    /// Characters that may be sent, but that a terminal acts on or does not show.
    private static let hidden = [
        "\t", "\u{85}", "\u{9B}", "\u{AD}", "\u{200B}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{FEFF}", "\u{E0041}",
    ]

    @Test(arguments: hidden) func `has no hidden character, and is read back with it`(character: String) throws {
        let text = "a\(character)b"
        let requests = [
            Request("http://h/", headers: [.accept: text]), Request("http://h/", parameters: ["a": text]),
            Request("http://h/", method: .post, body: .json([text: .string(text)])),
            Request("http://h/", method: .post, body: .bytes(Data(text.utf8), contentType: "text/plain")),
            Request("http://h/", method: .post, body: .form([text: text])),
        ]
        for request in requests {
            let command = try request.curlCommand()
            #expect(command.isPrintable, "\(command)")
            let (sent, read) = (try WireRequest(request), try WireRequest(Request(curl: command)))
            #expect(Set(read.headers.map(\.written)) == Set(sent.headers.map(\.written)), "\(command)")
            #expect(read.url.text(adding: read.parameterItems) == sent.url.text(adding: sent.parameterItems))
            #expect(try read.body?.encoded() == sent.body?.encoded(), "\(command)")
        }
    }

    @Test(arguments: 0..<UInt64(Effort.rounds(150, soaking: 400)))
    func `is read back as a request that sends the same bytes`(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let request = Request.random(using: &random)
        let command = try request.curlCommand()
        let (sent, read) = (try WireRequest(request), try WireRequest(Request(curl: command)))
        #expect(command.isPrintable, "\(command)")
        #expect(read.method == sent.method)
        #expect(read.url.text(adding: read.parameterItems) == sent.url.text(adding: sent.parameterItems))
        #expect(Set(read.headers.map(\.written)) == Set(sent.headers.map(\.written)), "\(command)")
        #expect(try read.body?.encoded() == sent.body?.encoded(), "\(command)")
    }
}

extension HTTPField {
    fileprivate var written: [UInt8] { Array("\(name.rawName): \(value)".utf8) }
}

extension Request {
    /// Returns a random request without credentials, with characters that are hard to quote.
    fileprivate static func random(using random: inout SplitMix) -> Request {
        let path = random.element(["", "/", "/a'b", "/a/../b;c", "/%2E/%2F!$&", "/[x]"])
        let query = random.element(["", "?", "?a", "?a=%20&b[]='", "?!$(rm)"])
        var request = Request("http://h" + path + query)
        request.method = random.element([.get, .post, .put, .delete, .query, HTTPRequest.Method("-$`'!") ?? .get])
        for index in 0..<random.below(3) {
            request.parameters.append("p\(index)" + random.text(), random.text())
        }
        for index in 0..<random.below(3) {
            request.headers.append(HTTPField(name: .init("X-H'\(index)") ?? .te, value: random.text(isHeader: true)))
        }
        request.body = .random(using: &random)
        return request
    }
}

extension RequestBody {
    fileprivate static func random(using random: inout SplitMix) -> RequestBody? {
        switch random.below(5) {
        case 0: nil
        case 1: .json(["a": .string(random.text()), "b": [1, 2.5, nil]])
        case 2: .form(["a": random.text(), "b": JSONValue.null])
        case 3: .bytes(Data(random.text().utf8), contentType: random.element([nil, "", "text/plain"]))
        default:
            .bytes(
                Data((0..<random.below(40)).map { _ in UInt8(random.below(256)) }),
                contentType: random.element([nil, "a/b"]))
        }
    }
}

extension SplitMix {
    fileprivate mutating func element<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    fileprivate mutating func text(isHeader: Bool = false) -> String {
        let pieces = [
            "'", "\"", "\\", "$x", "`", "$(rm)", "!", "@", "-", "%", "&", "=", "+", ";", " ", "ü", "\u{301}", "é😀",
        ]
        let controls =
            isHeader
            ? ["\t", "\u{85}", "\u{202E}", "\u{2028}"] : ["\n", "\r\n", "\t", "\0", "\u{1B}", "\u{7F}", "\u{2028}"]
        return (0..<below(12)).map { _ in element(below(8) == 0 ? controls : pieces) }.joined()
    }
}
