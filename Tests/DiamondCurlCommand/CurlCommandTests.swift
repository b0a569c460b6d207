import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DiamondCurlCommand

@Suite("A curl command read as a request", .limit(minutes: 5)) struct CurlCommandTests {
    private static func request(_ arguments: String) throws -> Request { try Request(curl: "curl " + arguments) }

    @Test(
        arguments: [
            ("http://h/", "GET"), ("-X PUT http://h/", "PUT"), ("-XPUT http://h/", "PUT"),
            ("--request=BREW http://h/", "BREW"), ("-I http://h/", "HEAD"), ("--head http://h/", "HEAD"),
            ("-d a http://h/", "POST"), ("--json {} http://h/", "POST"), ("-X GET -d a http://h/", "GET"),
            ("-G -d a http://h/", "GET"), ("-GI -d a http://h/", "HEAD"),
        ])
    func `has the method that curl would send`(arguments: String, method: String) throws {
        #expect(try Self.request(arguments).method.rawValue == method)
    }

    @Test(
        arguments: [
            ("--url http://h/a", "http://h/a"), ("-- http://h/a", "http://h/a"),
            (
                "-sSfLivg --compressed --path-as-is --http1.1 --http2 -o f --output=f --connect-timeout 1 http://h/?a[]=1",
                "http://h/?a[]=1"
            ),
            ("--silent --show-error --fail --location --include --verbose --globoff http://h/a", "http://h/a"),
            (#"'http://h/?a\[\]=\{\}'"#, "http://h/?a[]=%7B%7D"),
            ("'http://h/?a[]=1&a[]=2'", "http://h/?a[]=1&a[]=2"), ("'http://h/a[]/[]?[]'", "http://h/a[]/[]?[]"),
            ("--path-as-is http://h/a.b/...?../x", "http://h/a.b/...?../x"),
            ("http://[::1]:8080/a", "http://[::1]:8080/a"),
            ("-G -d a=1 --data-urlencode 'b=ü ' http://h/a#f", "http://h/a?a=1&b=%C3%BC+#f"),
            ("--get -d a http://h/?b", "http://h/?b&a"), ("-G -d a 'http://h/?'", "http://h/?a"),
            ("-G -d a 'http://h/?b&#f'", "http://h/?b&a#f"), ("-G -d a 'http://h/?&'", "http://h/?&a"),
            ("-G -d a 'http://h/?b?'", "http://h/?b?&a"), ("-G -d a http://h/#?", "http://h/?a#?"),
            ("-G -d '' http://h/?b", "http://h/?b&"), ("-G -d '' 'http://h/?#f'", "http://h/#f"),
            ("-G -d '' http://h/", "http://h/"), ("-G 'http://h/?'", "http://h/?"),
            ("http://me:pw@h/", "http://me:pw@h/"),
        ])
    func `has the URL that curl would request`(arguments: String, url: String) throws {
        let request = try Self.request(arguments)
        let query = try request.parameters.items(request.encoding).items.map {
            String(decoding: $0.text, as: UTF8.self)
        }
        let parts = request.url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let mark = query.isEmpty ? "" : parts[0].contains("?") ? "&" : "?"
        let fragment = parts.count == 2 ? "#" + parts[1] : ""
        #expect(parts[0] + mark + query.joined(separator: "&") + fragment == url)
    }

    @Test(
        arguments: [
            ("'http://h/a?q=M%C3%BCnchen&page=2'", "http://h/a", ["q": "München", "page": "2"]),
            ("'http://h/?flag&empty=#f'", "http://h/#f", ["flag": JSONValue.null, "empty": ""]),
            ("'http://h/?a=1&at=10:00&b=2'", "http://h/?a=1&at=10:00", ["b": "2"]),
            ("'http://h/?b=2&q=a+b'", "http://h/?b=2&q=a+b", [:]),
            ("'http://h/?x=%2f'", "http://h/?x=%2f", [:]), ("'http://h/?x=%7E'", "http://h/?x=%7E", [:]),
            ("'http://h/?x=%FF&y=1'", "http://h/?x=%FF", ["y": "1"]), ("'http://h/?x=%'", nil, [:]),
            ("'http://h/?'", "http://h/?", [:]), ("'http://h/?&a=1'", "http://h/?", ["a": "1"]),
            // A combining mark behind the question mark is a part of the query.
            ("'http://h/?\u{301}=1'", "http://h/?\u{301}=1", [:]),
            ("-X POST 'http://h/?a=1'", "http://h/", ["a": "1"]), ("-d b 'http://h/?a=1'", "http://h/", ["a": "1"]),
            ("-G -d a=1 'http://h/?b=2'", "http://h/", ["b": "2", "a": "1"]),
        ] as [(String, String?, Parameters)])
    func `has the items of its query as parameters, if they are sent as the same bytes`(
        arguments: String,
        url: String?,
        parameters: Parameters
    ) throws {
        guard let url else { return _ = #expect(throws: RequestError.self) { try Self.request(arguments) } }
        let request = try Self.request(arguments)
        #expect(request.url == url && request.parameters == parameters)
        var changed = request
        if !parameters.isEmpty, changed.body == nil { changed.method = .post }
        changed.parameters["a"] = "changed"
        let sent = try WireRequest(changed)
        #expect(sent.url.text(adding: sent.parameterItems).contains("a=changed"))
    }

    @Test(
        arguments: [
            ("-H 'A: b' -H'C:d' --header='E:  f '", ["A": "b", "C": "d", "E": "f"]),
            ("-H 'A;' -H 'Accept:' -H 'X: '", ["A": ""]),
            ("-u me:p:w", ["Authorization": "Basic bWU6cDp3"]), ("--user ü%:ß", ["Authorization": "Basic w7wlOsOf"]),
            (
                "-A me -e http://r/ -b a=1 --cookie b=2",
                ["User-Agent": "me", "Referer": "http://r/", "Cookie": "a=1; b=2"]
            ),
            ("-e 'http://r/;auto'", ["Referer": "http://r/"]), ("-e 'a;autob;auto'", ["Referer": "a"]),
            ("-e ';auto'", [:]),
            ("-A me -H 'User-Agent: you'", ["User-Agent": "you"]), ("-A me -H User-Agent:", [:]), ("-A ''", [:]),
            ("--json 1", ["Content-Type": "application/json", "Accept": "application/json"]),
            ("--json 1 -H Content-Type:a -H Accept:", ["Content-Type": "a"]),
        ] as [(String, [String: String])])
    func `has the headers that curl would send`(arguments: String, headers: [String: String]) throws {
        let sent = try Self.request(arguments + " http://h/").headers
        #expect(Dictionary(sent.map { ($0.name.rawName, $0.value) }) { "\($0), \($1)" } == headers)
    }

    @Test(
        arguments: [
            ("-d a=1 --data b --data-ascii=c", "a=1&b&c"), ("-d '' -d a", "a"), ("-d ''", ""), ("-da", "a"),
            ("--data-raw @a --data-binary ' b\n'", "@a& b\n"),
            ("--data-urlencode 'a b' --data-urlencode '=c=' --data-urlencode 'd=&@'", "a+b&c%3D&d=%26%40"),
            ("--json '[1,' --json 2] -d x", "[1,2]&x"),
        ])
    func `has the body that curl would send`(arguments: String, body: String) throws {
        let sent = try Self.request(arguments + " http://h/").body?.encoded()
        #expect(sent.map { String(decoding: $0, as: UTF8.self) } == body)
    }

    static let form = "application/x-www-form-urlencoded"

    @Test(
        arguments: [
            ("-d 'a=1&b=%C3%BC&c'", .form(["a": "1", "b": "ü", "c": JSONValue.null])),
            ("-d a+b", .bytes(Data("a+b".utf8), contentType: form)),
            ("-d '{}'", .bytes(Data("{}".utf8), contentType: form)),
            ("-d '{\"a\": 1}' -H 'content-type: application/json; charset=utf-8'", Self.json(#"{"a": 1}"#)),
            ("--json '{\"a\": 1}'", Self.json(#"{"a": 1}"#)),
            ("--json '{'", .bytes(Data("{".utf8), contentType: "application/json")),
            ("-d a=1 -H 'Content-Type: text/plain'", .bytes(Data("a=1".utf8), contentType: "text/plain")),
            ("-d a=1 -H Content-Type:", .bytes(Data("a=1".utf8))), ("-X PUT", nil), ("-G -d a=1", nil),
        ] as [(String, RequestBody?)])
    func `has a JSON or form body according to its Content-Type`(arguments: String, body: RequestBody?) throws {
        #expect(try Self.request(arguments + " http://h/").body == body)
    }

    @Test(
        arguments: [("-m 2.5", .milliseconds(2500)), ("--max-time=1", .seconds(1)), ("-m0", nil), ("", .seconds(60))]
            as [(String, Duration?)])
    func `has the timeout of --max-time`(arguments: String, timeout: Duration?) throws {
        #expect(try Self.request("http://h/ " + arguments).timeout == timeout)
    }

    @Test(
        arguments: [
            (#"'a"\$`b'"#, #"a"\$`b"#), (#""a'\"\\\$\`\n $ b""#, #"a'"\$`\n $ b"#), (#"a\ \'\$b"#, "a '$b"),
            (#"$'\n\t\r\a\b\e\f\v\\\'\"\?'"#, "\n\t\r\u{7}\u{8}\u{1B}\u{C}\u{B}\\'\"?"),
            (#"$'\x41\x4a1\u00fc\u0021\101\7\U1F600\cA\q'"#, "AJ1ü!A\u{7}😀\u{1}\\q"), (#"$'\ud83d\ude00é'"#, "😀é"),
            (#""a$(printf '\303\274"%%\n\n')b""#, "aü\"%b"), ("a\\\nb", "ab"), ("\"a\\\nb\"", "ab"), ("a\\\r\nb", "ab"),
            ("'a\nb'", "a\nb"), ("''", ""),
            (#"a'b'"c"$'d'\e"#, "abcde"), ("a#b~{}{a}{a", "a#b~{}{a}{a"), ("'\u{301}'", "\u{301}"),
            ("http://h/*?a[0]=~", "http://h/*?a[0]=~"), ("a[]", "a[]"), ("-d=a=~", "-d=a=~"), ("a:~b", "a:~b"),
            (#"\~\{a,b}\*\?\[a]\!"#, "~{a,b}*?[a]!"), ("'~{a,b}*?[a]!b'", "~{a,b}*?[a]!b"),
            (#""~{a,b}{1..2}*?[a]!=""#, "~{a,b}{1..2}*?[a]!="), ("{a','b}", "{a,b}"), (#""a!""#, "a!"), ("=", "="),
        ])
    func `is split into words by the rules of a shell`(quoted: String, word: String) throws {
        #expect(try ShellLine(" \t a " + quoted + " \\\n b\n\n").words.map { try $0.text() } == ["a", word, "b"])
    }

    @Test(
        arguments: [
            ("", 1, "begin with curl"), ("wget http://h/", 1, "begin with curl"), ("curl", 5, "no URL"),
            ("curl http://h/ http://i/", 16, "second URL"), ("curl --url http://h/ http://i/", 22, "second URL"),
            ("curl h", 6, "no scheme"), ("curl 'http://h/a b'", 6, "write %20"),
            ("curl 'http://h/{a,b}'", 6, "--globoff"),
            ("curl http://h/[1-3]", 6, "--globoff (-g)"), ("curl 'http://h/?a[0]=1'", 6, "--globoff (-g)"),
            ("curl 'http://h/?a[b]=1'", 6, "'['"), ("curl 'http://h/?a[]]'", 6, "']'"),
            ("curl 'http://h/?[[]'", 6, "'['"),
            ("curl http://h/{}", 6, "'{'"), ("curl --path-as-is http://h/a/../b", 19, "--path-as-is sends"),
            ("curl http://h/%2E%2e/b --path-as-is", 6, "--path-as-is sends"),
            ("curl -g http://h/{a}", 9, "write %7B"),
            ("curl -X 'G ET' http://h/", 9, "write one word"), ("curl --nope http://h/", 6, "--nope is unknown"),
            ("curl -sq http://h/", 6, "-q is unknown"), ("curl http://h/ -H", 16, "-H needs a value"),
            ("curl --head=1 http://h/", 6, "takes no value"), ("curl -k http://h/", 6, "never skipped"),
            ("curl --insecure http://h/", 6, "never skipped"), ("curl -H A http://h/", 9, "write 'Name: value'"),
            ("curl -H $'A: b\\nC: d' http://h/", 9, "line break"), ("curl -H 'A B: c' http://h/", 9, "a header's name"),
            ("curl -H @f http://h/", 9, "in a file"), ("curl -H $'A: \\xff' http://h/", 9, "UTF-8"),
            ("curl -d @f http://h/", 9, "in a file"), ("curl --data-binary @- http://h/", 20, "in a file"),
            ("curl --data-urlencode a@f http://h/", 23, "in a file"), ("curl --json @f http://h/", 13, "in a file"),
            ("curl -b f http://h/", 9, "in a file"), ("curl -u me http://h/", 9, "user:password"),
            ("curl -m soon http://h/", 9, "write seconds"), ("curl -m -1 http://h/", 9, "write seconds"),
            ("curl -m nan http://h/", 9, "write seconds"), ("curl -I -d a http://h/", 23, "add -G"),
            ("curl 'http://h/", 6, "add a '"), ("curl \"ü", 6, "add a \""), ("curl $'ü\\", 6, "add a '"),
            ("curl 'ü' $URL", 10, "variable's value"), ("curl \"ü$URL\"", 8, "variable's value"),
            ("curl \"${URL}\"", 7, "variable's value"), ("curl \"$(pwd)\"", 7, "variable's value"),
            ("curl \"$(printf 'a' b)\"", 19, "write a ')'"), ("curl \"$(printf '%s')\"", 16, "write '%%'"),
            ("curl \"$(printf '\\x41')\"", 16, "in octal"), ("printf '\\u00fc' | curl http://h/", 8, "in octal"),
            ("printf 'a\\cb' | curl http://h/", 8, "in octal"), ("curl \"$(printf '\\%%')\"", 16, "in octal"),
            ("curl \"$(printf '\\000')\"", 16, "a NUL"), ("curl \"$(printf 'a", 16, "add a '"),
            ("$ curl http://h/", 1, "act on '$'"), ("curl `pwd`", 6, "backticks"), ("curl \"`pwd`\"", 7, "backticks"),
            ("curl http://h/?a&b", 17, "act on '&'"), ("curl http://h/ | jq", 16, "act on '|'"),
            ("curl http://h/; ls", 15, "act on ';'"), ("curl http://h/ > f", 16, "act on '>'"),
            ("curl < f", 6, "act on '<'"), ("curl (", 6, "act on '('"), ("curl http://h/ # x", 16, "a comment"),
            ("curl http://h/\nls", 16, "end each line"), ("curl a\\", 7, "nothing follows"),
            ("curl $'\\x00'", 8, "no NUL"), ("curl $'\\ud83d'", 8, "no character"), ("curl $'\\c@'", 8, "NUL"),
            ("printf '%s' | curl http://h/", 8, "write '%%'"), ("printf a b | curl http://h/", 12, "act on '|'"),
            ("printf a | ls", 12, "begin with curl"),
            ("curl http://h/{a,b}", 6, "act on '{'"), ("curl http://h/ -d {email:a@b.test,n:1}", 19, "act on '{'"),
            ("curl http://h/ -d a{1..3}", 19, "act on '{'"), ("curl http://h/ -d {a..c..2}", 19, "act on '{'"),
            ("curl http://h/ -d {{a,b}", 19, "act on '{'"), ("curl http://h/ -d {'a',b}", 19, "act on '{'"),
            ("curl http://h/ -d ~", 19, "act on '~'"), ("curl http://h/ -d ~/a", 19, "act on '~'"),
            ("curl ~me", 6, "act on '~'"), ("curl http://h/ -d a=~", 19, "act on '~'"),
            ("curl http://h/ -d a=b:~/c", 19, "act on '~'"), ("curl http://h/ -d a+=~", 19, "act on '~'"),
            ("curl http://h/ -d *", 19, "act on '*'"), ("curl http://h/ -d a?", 19, "act on '?'"),
            ("curl http://h/ -H Accept:*/*", 19, "act on '*'"), ("curl http://h/ -d [1,2]", 19, "act on '['"),
            ("curl http://h/ -d =a", 19, "act on '='"), ("curl http://h/!!", 15, "act on '!'"),
            ("curl http://h/ -d \"a!b\"", 21, "act on '!'"), ("curl http://h/ -d !$", 19, "act on '!'"),
        ])
    func `is refused with the position and the remedy if it is malformed`(text: String, position: Int, part: String) {
        let error = #expect(throws: RequestError.self) { try Request(curl: text) }
        #expect(error?.code == .malformedCurl)
        #expect(error?.message.contains("at character \(position): ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    private static func json(_ text: String) -> RequestBody? { try? .json(text: text) }

    @Test(arguments: [
        "--json", "-H 'Content-Type: application/json' -d", "-H 'content-type: application/json' --data-raw",
    ])
    func `sends JSON byte for byte`(option: String) throws {
        let text = "{ \"b\": 1.0, \"a\": [1e2,\"\\u00e9\"] }"
        let request = try Self.request("\(option) '\(text)' http://h/")
        #expect(try request.body?.encoded() == Data(text.utf8))
        #expect(try Request(curl: request.curlCommand()).body == request.body)
    }

    @Test(arguments: ["-H 'A s3cret'", "-u s3cret", "-b s3cret", "-d @s3cret", "-m s3cret", "-X 's3 cret'"])
    func `is refused without its values in the message if it is malformed`(arguments: String) {
        let error = #expect(throws: RequestError.self) { try Self.request(arguments + " http://h/") }
        #expect(error?.message.contains("cret") == false, "\(error?.message ?? "")")
    }

    private static let many = 100_000

    /// Each of these commands was once read in quadratic time, in which this test takes many minutes.
    @Test(
        arguments: [
            "http://h/" + String(repeating: " -d ab", count: many),
            "http://h/" + String(repeating: " -b a=1", count: many),
            "http://h/ -" + String(repeating: "s", count: 10 * many), String(repeating: "[", count: 10 * many),
            "http://h/ -d \"" + String(repeating: "$(printf '')", count: many) + "\"",
            "-g 'http://h/?" + String(repeating: "token=a&", count: many) + "'",
        ])
    func `may be very long`(arguments: String) throws {
        guard let request = try? Self.request(arguments) else { return #expect(arguments.first == "[") }
        #expect(try request.curlCommand().hasPrefix("curl "))
    }

    @Test func `is refused if it has more headers than a request holds`() {
        let text = "curl http://h/" + String(repeating: " -H A:b", count: 10_001)
        let error = #expect(throws: RequestError.self) { try Request(curl: text) }
        #expect(error?.message.contains("send fewer") == true)
    }

    @Test func `may be copied from a browser`() throws {
        let request = try Request(
            curl: #"""
                curl 'https://api.example.com/graphql?a=1' \
                  -X 'POST' \
                  -H 'accept: */*' \
                  -H 'content-type: application/json' \
                  -b 'sid=1; theme=dark' \
                  --data-raw $'{"query":"it\'s \u0021 \ud83d\ude00"}' \
                  --compressed
                """#)
        let headers: HTTPFields = [.accept: "*/*", .contentType: "application/json", .cookie: "sid=1; theme=dark"]
        let url = "https://api.example.com/graphql"
        let text = #"{"query":"it's ! 😀"}"#
        var expected = Request(
            url, method: .post, parameters: ["a": "1"], headers: headers, body: try .json(text: text))
        expected.destination = .query
        #expect(request == expected)
    }
}

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

#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
@Suite("A curl command given to a shell") struct CurlShellTests {
    private static let nasty = [
        "$(rm)", "`rm`", "it's", "\"", "\\", "\\'", "a\nb\n", "ü😀", "-rf", "!!", "$HOME", "'\u{301}'", "*", "@f",
        "%s%%\\n",
        "\u{1B}[0m", "\0", "#", "~", "{a,b}", "&|;<>", "", "a\tb", "\u{85}", "\u{202E}!", "\u{2028}\\",
    ]

    @Test(arguments: ["/bin/sh", "/bin/bash"].filter(FileManager.default.isExecutableFile), nasty)
    func `passes each argument to curl byte for byte`(shell: String, text: String) async throws {
        let body = RequestBody.bytes(Data(text.utf8), contentType: "text/plain")
        let header = text.filter(\.isPlain)
        let request = Request(
            "http://h/a", method: .post, parameters: ["q": text], headers: [.accept: header], body: body)
        let query = String(decoding: PercentEncoding.encode(text.utf8), as: UTF8.self)
        let said = Array(
            try await Self.run(request.curlCommand(), in: shell).split(separator: 0, omittingEmptySubsequences: false))
        #expect(said.first.map { Array($0) } == Array("http://h/a?q=\(query)".utf8))
        #expect(
            said.dropFirst(2).first.map { Array($0) } == Array((header.isEmpty ? "Accept;" : "Accept: \(header)").utf8))
        let isPiped = !text.isPrintable
        #expect(said.dropFirst(5).first.map { Array($0) } == Array((isPiped ? "--data-binary" : "--data-raw").utf8))
        #expect(said.dropFirst(6).first.map { Array($0) } == Array((isPiped ? "@-" : text).utf8))
        // The last part is the piped input, which may contain NULs itself.
        #expect(Array(said.dropFirst(8).joined(separator: [0])) == (isPiped ? Array(text.utf8) : []))
    }

    /// Words, unquoted or in part, that a shell may change.
    private static let words = [
        "~", "~/a", "~root", "a=~", "a=b:~", "a+=~/b", "_a1=~", "1a=~", "a:~", "a~", "-d=a=~", "'~'", "\\~", "a='~'",
        "{a,b}", "a{,b}c", "{a}", "{}", "{1..3}", "{3..1..2}", "{a..c}", "{aa..c}", "{1..c}", "{a,b", "{{a,b}",
        "{a{b,c}}", "{a\\,b}", "'{'a,b}", "{'a',b}", "{email:a@b.test,n:1}", "*", "b?n", "[a-z]*", "'*'", "\\*", "[]",
        "a[]", "=a",
    ]

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash")), arguments: words)
    func `is refused if the shell changes a word of it`(word: String) async throws {
        let script = "cd /; printf '%s\\0' \(word)"
        let printed = try await ChildProcess.output(of: URL(filePath: "/bin/bash"), ["-c", script], environment: [:])
        let plain = word.replacing("\\", with: "").replacing("'", with: "")
        guard printed == Data((plain + "\0").utf8) else {
            let error = #expect(throws: RequestError.self) { try ShellLine("curl " + word) }
            return #expect(error?.message.contains("a shell would act on") == true)
        }
        guard let line = try? ShellLine("curl " + word) else { return #expect(Self.onlyInOtherShells.contains(word)) }
        #expect(try line.words.last?.text() == plain)
    }

    /// Words that zsh changes, and bash does not.
    private static let onlyInOtherShells = ["=a"]

    @Test func `uses the values of its variables`() async throws {
        let url = "http://h/?a=$b&token=s3cret"
        let request = Request(url, headers: [.authorization: "Bearer s3cret"])
        let command = "AUTHORIZATION='a b' TOKEN='$(rm)`'; " + (try request.curlCommand())
        let said = try await Self.run(command, in: "/bin/sh").split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        #expect(said == ["http://h/?a=$b&token=$(rm)`", "-H", "Authorization: Bearer a b"])
    }

    /// Runs a command with a shell function in place of `curl`, and returns its arguments, each followed by a NUL,
    /// another NUL, and its standard input.
    ///
    /// A function, not a file: a file just written cannot be run while another test starts a process.
    private static func run(_ command: String, in shell: String) async throws -> Data {
        let script = "curl() { printf '%s\\0' \"$@\"; printf '\\0'; /bin/cat; }; " + command
        return try await ChildProcess.output(of: URL(filePath: shell), ["-c", script], environment: [:])
    }
}

extension Character {
    /// Whether the character may be part of a header's value.
    fileprivate var isPlain: Bool { self == "\t" || utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
#endif
