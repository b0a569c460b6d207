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
