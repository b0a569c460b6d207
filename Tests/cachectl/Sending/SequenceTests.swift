import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl send, with several requests in a file", .limit(minutes: 5)) struct SequenceTests {
    let cachectl = Shell()

    /// Returns a server with a login, whose token has to be sent to every other path.
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            if request.target == "/login" {
                let fields = ["X-Note: s3cret-note", #"Link: </page/2>; rel="next""#]
                let body = #"{"access_token": "s3cret-token", "user": {"id": 9007199254740993, "tags": ["a", "b"]}}"#
                return ScriptedOrigin.response("201 Created", fields[0], fields[1], body: body)
            }
            guard request.value("Authorization") == "Bearer s3cret-token" else {
                return ScriptedOrigin.response("401 Unauthorized", body: "no")
            }
            let body = #"{"path": "\#(request.target)"}"#
            return ScriptedOrigin.response("200 OK", "Cache-Control: max-age=60", body: body)
        }
    }

    private static let login = """
        {"url": "${HOST}/login", "method": "POST",
         "capture": {"token": "/access_token", "id": "/user/id", "tags": "/user/tags", "next": "link:next",
                     "note": "header:X-Note", "code": "status"}}
        """
    private static let bearer = #""headers": {"Authorization": "Bearer ${token}"}"#

    private func send(_ origin: ScriptedOrigin, _ text: String, _ options: String...) async throws
        -> BuiltTool.Outcome
    {
        let file = try cachectl.file("requests.json", text)
        return try await cachectl(["send", file] + options, environment: ["HOST": origin.base])
    }

    private func expectNoSecrets(_ outcome: BuiltTool.Outcome) throws {
        #expect(!(outcome.text + outcome.errors).contains("s3cret"), "\(outcome.text)\(outcome.errors)")
        let store = cachectl.temporary
        let hasFiles = FileManager.default.fileExists(atPath: store.directory.path)
        #expect(try !hasFiles || store.files(containing: "s3cret").isEmpty)
    }

    @Test(arguments: ["[LOGIN, {ME}]", "LOGIN\n\n{ME}\n"])
    func `puts values that were captured into later requests, and prints the last body`(form: String) async throws {
        let origin = try Self.origin()
        let login = Self.login.replacing("\n", with: " ")
        let me = #""url": "${HOST}/users/${id}?code=${code}", \#(Self.bearer)"#
        let text = form.replacing("LOGIN", with: login).replacing("ME", with: me)
        let sent = try await send(origin, text)
        #expect(sent.status == 0 && sent.text == #"{"path": "/users/9007199254740993?code=201"}"#, "\(sent.errors)")
        let lines = sent.errors.split(separator: "\n")
        #expect(lines.count == 2, "\(sent.errors)")
        #expect(lines.first?.hasPrefix("1 POST ${HOST}/login: 201, ") == true, "\(sent.errors)")
        #expect(lines.last?.hasPrefix("2 GET ${HOST}/users/${id}?code=${code}: 200, ") == true, "\(sent.errors)")
        try expectNoSecrets(sent)
    }

    @Test func `a value keeps its type where it is a whole string of JSON, and is text elsewhere`() async throws {
        let origin = try Self.origin()
        let body = #"{"json": {"id": "${id}", "tags": "${tags}", "text": "n ${id}", "raw": "$${id}", "${code}": null}}"#
        let change = #"{"url": "${HOST}/x", "method": "PUT", \#(Self.bearer), "body": \#(body)}"#
        let jsonText = #"{"jsonText": "[${id}, \"${token}\"]"}"#
        let text = #"{"url": "${HOST}/y", "method": "PUT", \#(Self.bearer), "body": \#(jsonText)}"#
        let sent = try await send(origin, "[\(Self.login), \(change), \(text)]")
        #expect(sent.status == 0, "\(sent.errors)")
        let bodies = origin.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(
            Array(bodies.dropFirst()) == [
                #"{"201":null,"id":9007199254740993,"raw":"${id}","tags":["a","b"],"text":"n 9007199254740993"}"#,
                #"[9007199254740993, "s3cret-token"]"#,
            ])
    }

    @Test func `a URL can be captured, and a value in its path cannot change the path`() async throws {
        let origin = try ScriptedOrigin { request in
            let body = request.target == "/1" ? #"{"id": "a/b?c", "up": "..", "port": "/z"}"# : "{}"
            return ScriptedOrigin.response("200 OK", #"Link: </page/2>; rel="next""#, body: body)
        }
        let first = #"{"url": "${HOST}/1", "capture": {"id": "/id", "up": "/up", "next": "link:next", "z": "/port"}}"#
        let rest = ["${next}", "${HOST}/x/${id}", "${HOST}${z}"].map { #"{"url": "\#($0)"}"# }
        let sent = try await send(origin, "[\(([first] + rest).joined(separator: ", "))]")
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(origin.requests.map(\.target) == ["/1", "/page/2", "/x/a%2Fb%3Fc", "/z"])
        let up = try await send(origin, #"[\#(first), {"url": "${HOST}/x/${up}", "method": "DELETE"}]"#)
        #expect(up.status == 64 && origin.requests.count == 5, "\(up.errors)")
        #expect(!origin.requests.contains { $0.line.hasPrefix("DELETE") })
    }

    @Test func `the file in the help can be sent`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: #"{"access_token": "s3cret-token"}"#) }
        let help = try await cachectl("send", "--help").text.split(separator: "\n", omittingEmptySubsequences: false)
        let shown = help.drop { $0 != "FILE" }.dropFirst().prefix { !$0.isEmpty }.joined(separator: "\n")
        let file = try cachectl.file("help.json", shown)
        let sent = try await cachectl("send", file, environment: ["HOST": origin.base])
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(origin.requests.map(\.target) == ["/login", "/me"])
        #expect(origin.requests.last?.value("Authorization") == "Bearer s3cret-token")
    }

    @Test func `a captured value is a secret of later requests by its name`() async throws {
        let origin = try Self.origin()
        let credentials = #""credentials": [{"prefix": "Bearer ", "secret": "token"}]"#
        let sent = try await send(origin, #"[\#(Self.login), {"url": "${HOST}/me", \#(credentials)}]"#)
        #expect(sent.status == 0 && sent.text == #"{"path": "/me"}"#, "\(sent.errors)")
        try expectNoSecrets(sent)
        let note = #"{"url": "${HOST}/me", "method": "POST", \#(credentials), "replay": {"mode": "durable"}}"#
        let refused = try await send(origin, "[\(Self.login), \(note)]")
        #expect(refused.status == 64 && refused.errors.contains("request 2: "), "\(refused.errors)")
        try expectNoSecrets(refused)
    }

    @Test func `--json prints a line for each request, without captured values`() async throws {
        let origin = try Self.origin()
        let sent = try await send(origin, #"[\#(Self.login), {"url": "${HOST}/me", \#(Self.bearer)}]"#, "--json")
        let lines = try sent.text.split(separator: "\n").map {
            try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(lines.map { $0["request"] as? Int } == [1, 2] && lines.map { $0["status"] as? Int } == [201, 200])
        #expect(lines.map { $0["url"] as? String } == ["${HOST}/login", "${HOST}/me"])
        #expect(lines.first?["captured"] as? [String] == ["code", "id", "next", "note", "tags", "token"])
        #expect(lines.first?["body"] == nil && lines.first?["base64"] == nil)
        #expect(lines.last?["body"] as? String == #"{"path": "/me"}"#)
        try expectNoSecrets(sent)
    }

    /// Files, and a part of the message about the value that is missing.
    private static let missing = [
        (#"{"url": "${HOST}/x/${DIAMOND_NOT_SET}"}"#, "${DIAMOND_NOT_SET} has no value: set the variable"),
        (#"[{"url": "${HOST}/1"}, {"url": "${HOST}/${token}"}]"#, "request 2: ${token} has no value"),
        (#"[{"url": "${HOST}/${id}", "capture": {"id": "status"}}]"#, "${id} has no value"),
        (#"{"url": "${HOST}/1", "assert": ["status == ${EMPTY}"]}"#, "${EMPTY} has no value"),
    ]

    @Test(arguments: missing) func `sends nothing if a value is missing, names it, and exits with 8`(
        text: String, part: String
    ) async throws {
        let origin = try Self.origin()
        let file = try cachectl.file("requests.json", text)
        let sent = try await cachectl("send", file, environment: ["HOST": origin.base, "EMPTY": ""])
        #expect(sent.status == 8 && sent.text.isEmpty && sent.errors.contains(part), "\(sent.errors)")
        #expect(sent.errors.split(separator: "\n").count == 1 && origin.requests.isEmpty)
    }

    @Test(
        arguments: [
            ("/nothing", "'x' cannot be captured: it is absent\n"), ("header:X-None", "'x' cannot be captured"),
            ("link:last", "'x' cannot be captured"), ("/user/tags/2", "'x' cannot be captured"),
        ])
    func `ends with 8 if a part is not there to be captured`(part: String, message: String) async throws {
        let origin = try Self.origin()
        let first = #"{"url": "${HOST}/login", "method": "POST", "capture": {"x": "\#(part)"}}"#
        let sent = try await send(origin, #"[\#(first), {"url": "${HOST}/${x}"}]"#)
        #expect(sent.status == 8 && sent.errors.contains(message), "\(sent.errors)")
        #expect(origin.requests.count == 1)
        // Otherwise, nothing says that the body is secret.
        if part.hasPrefix("/") { try expectNoSecrets(sent) }
    }

    @Test func `ends with 8 before a request with a null in a text, and 64 before one with a line break in a field`()
        async throws
    {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response(body: #"{"null": null, "lines": "a\r\nX-Evil: s3cret"}"#)
        }
        let first = #"{"url": "${HOST}/1", "capture": {"none": "/null", "lines": "/lines"}}"#
        let null = try await send(origin, #"[\#(first), {"url": "${HOST}/x/${none}"}]"#)
        #expect(null.status == 8 && null.errors.contains("request 2: the value of 'none' is null"), "\(null.errors)")
        let lines = try await send(origin, #"[\#(first), {"url": "${HOST}/x", "headers": {"A": "${lines}"}}]"#)
        #expect(lines.status == 64 && lines.errors.contains("line break"), "\(lines.errors)")
        #expect(origin.requests.count == 2 && !lines.errors.contains("s3cret"))
    }

    @Test func `stops at an error status, and prints its body`() async throws {
        let origin = try Self.origin()
        let sent = try await send(origin, #"[{"url": "${HOST}/me"}, {"url": "${HOST}/2"}]"#)
        #expect(sent.status == 2 && sent.text == "no" && origin.requests.count == 1, "\(sent.errors)")
    }

    @Test(arguments: [["status == 409"], []])
    func `prints no body that is captured from, whatever its status is`(assertions: [String]) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("409 Conflict", body: #"{"id": "s3cret-id"}"#) }
        let text = #"{"url": "${HOST}/x", "method": "POST", "capture": {"id": "/id"}, "assert": \#(assertions)}"#
        for options in [[], ["--json"]] as [[String]] {
            let file = try cachectl.file("requests.json", text)
            let sent = try await cachectl(["send", file] + options, environment: ["HOST": origin.base])
            #expect(sent.status == (assertions.isEmpty ? 2 : 0), "\(sent.errors)")
            try expectNoSecrets(sent)
        }
    }

    @Test func `shows no captured value of a response that fails an assertion`() async throws {
        let body = #"{"name": "s3cret-\"name\"", "parts": {"first": "s3cret-part"}}"#
        let origin = try ScriptedOrigin { _ in
            let fields = ["X-Note: s3cret-note", "Location: /s3cret-place", "Link: </s3cret-page>; rel=next"]
            return ScriptedOrigin.response("201 Created", fields[0], fields[1], fields[2], body: body)
        }
        let captures = """
            {"name": "/name", "parts": "/parts", "note": "header:X-Note", "place": "header:Location", "page": "link:next"}
            """
        let conditions = """
            ["status == 404", "/name == a", "/parts == b", "/parts/first == c", "body == d", "header:X-Note == e",
             "header:Location == f", "link:next == g"]
            """
        let text = #"{"url": "${HOST}/x", "method": "POST", "capture": \#(captures), "assert": \#(conditions)}"#
        for options in [[], ["--json"]] as [[String]] {
            let file = try cachectl.file("requests.json", text)
            let sent = try await cachectl(["send", file] + options, environment: ["HOST": origin.base])
            #expect(sent.status == 7 && (sent.text + sent.errors).contains("'link:next == "), "\(sent.errors)")
            try expectNoSecrets(sent)
        }
        let whole = #"{"url": "${HOST}/x", "method": "POST", "capture": {"all": "body"}, "assert": ["/name == a"]}"#
        let sent = try await send(origin, whole)
        #expect(sent.status == 7 && sent.errors.contains("it is •••"), "\(sent.errors)")
        try expectNoSecrets(sent)
    }

    @Test func `shows no value in an error about the filled request`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: #"{"word": "s3cret word"}"#) }
        let variable = try cachectl.file("variable.json", #"{"url": "http://h/", "policy": "${WORD}"}"#)
        let early = try await cachectl("send", variable, environment: ["WORD": "s3cret-word"])
        #expect(early.status == 64 && early.errors.contains("•••"), "\(early.errors)")
        try expectNoSecrets(early)
        let first = #"{"url": "${HOST}/1", "method": "POST", "capture": {"word": "/word"}}"#
        let late = try await send(origin, #"[\#(first), {"url": "${HOST}/2", "method": "${word}"}]"#)
        #expect(late.status == 64 && late.errors.contains("'•••' is not a method"), "\(late.errors)")
        #expect(origin.requests.count == 1)
        try expectNoSecrets(late)
    }

    @Test func `a Location is resolved, and can be the next URL`() async throws {
        let origin = try ScriptedOrigin { request in
            request.number == 1
                ? ScriptedOrigin.response("201 Created", "Location: ../notes/5?a=b") : ScriptedOrigin.response()
        }
        let first = #"{"url": "${HOST}/users/notes", "method": "POST", "capture": {"note": "header:Location"}}"#
        let credentials = #""credentials": [{"prefix": "Bearer ", "secret": "note"}]"#
        let sent = try await send(origin, #"[\#(first), {"url": "${note}", \#(credentials)}]"#)
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(origin.requests.map(\.target) == ["/users/notes", "/notes/5?a=b"])
    }

    /// URLs with a captured value, and the value.
    private static let hosts = [
        ("${HOST}${x}", ".s3cret.example"), ("${HOST}${x}", "@s3cret.example/"), ("${HOST}${x}", ":81/s3cret"),
        ("http://${x}/", "s3cret.example"), ("http://${x}", "/s3cret.example/"), ("http:${x}", "//s3cret.example/"),
        ("http${x}", "s://s3cret.example/"), ("http://a.${x}.example/", "s3cret"), ("http://u:${x}@h/", "s3cret"),
    ]

    @Test(arguments: hosts)
    func `a captured value cannot be a part of the host`(url: String, value: String) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: #"{"x": "\#(value)"}"#) }
        let first = #"{"url": "${HOST}/1", "method": "POST", "capture": {"x": "/x"}}"#
        let sent = try await send(origin, #"[\#(first), {"url": "\#(url)"}]"#)
        #expect(sent.status == 64 && sent.errors.contains("${x} would be a part of the host"), "\(sent.errors)")
        #expect(origin.requests.count == 1)
        try expectNoSecrets(sent)
    }

    @Test(arguments: [
        (#"{"url": "${x}", "credentials": [{"secret": "token"}]}"#, false),
        (#"{"url": "${x}", "headers": {"Authorization": "Bearer ${token}"}}"#, false), (#"{"url": "${x}"}"#, true),
        (#"{"url": "${OTHER}/x", "credentials": [{"secret": "token"}]}"#, true),
    ]) func `a captured URL of another origin gets no credentials`(text: String, isSent: Bool) async throws {
        let other = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let body = #"{"x": "\#(other.base)/x", "token": "s3cret-token"}"#
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: body) }
        let first = #"{"url": "${HOST}/1", "method": "POST", "capture": {"x": "/x", "token": "/token"}}"#
        let file = try cachectl.file("requests.json", "[\(first), \(text)]")
        let sent = try await cachectl("send", file, environment: ["HOST": origin.base, "OTHER": other.base])
        #expect(sent.status == (isSent ? 0 : 64) && other.requests.count == (isSent ? 1 : 0), "\(sent.errors)")
        #expect(isSent || sent.errors.contains("request 2: the captured URL ${x} has another origin"))
        try expectNoSecrets(sent)
    }

    @Test func `continues after a queued request whose response is not needed`() async throws {
        let origin = try Self.origin()
        let down = #"{"url": "http://127.0.0.1:1/", "method": "PUT", "retry": {"attempts": 1}, MORE}"#
        let file = "[\(down), \(Self.login)]"
        let queued = try await send(origin, file.replacing("MORE", with: #""replay": {"mode": "durable"}"#), "--json")
        #expect(queued.status == 6 && origin.requests.count == 1, "\(queued.errors)")
        #expect(queued.text.contains(#""queued":1"#) && queued.text.contains(#""status":201"#), "\(queued.text)")
        let needed = file.replacing("MORE", with: #""replay": {"mode": "durable"}, "capture": {"x": "/y"}"#)
        #expect(try await send(origin, needed).status == 6)
        let failed = try await send(origin, file.replacing("MORE", with: #""tags": []"#), "--json")
        #expect(failed.status == 3 && failed.text.contains(#""error":"cannotConnect""#), "\(failed.text)")
        #expect(origin.requests.count == 1)
    }

    @Test func `exits with the code of a failure after a queued request`() async throws {
        let origin = try Self.origin()
        let queued = #"{"url": "http://127.0.0.1:1/", "method": "PUT", "replay": {"mode": "durable"}, \#(Self.once)}"#
        let sent = try await send(origin, #"[\#(queued), {"url": "${HOST}/me"}]"#)
        #expect(sent.status == 2 && sent.text == "no" && sent.errors.contains("job 1"), "\(sent.errors)")
    }

    private static let once = #""retry": {"attempts": 1}"#

    /// Files that are wrong, and a part of the message.
    private static let mistakes = [
        (#"[{"url": "http://h/"}, {"url": "http://h/", "metod": "PUT"}]"#, "requests.json: request 2: key \"metod\""),
        ("[]", "there is no request"), ("[1]", "a request is a number"),
        (#"{"url": "http://h/", "capture": ["x"]}"#, "key \"capture\" is an array"),
        (#"{"url": "http://h/", "capture": {"a b": "/x"}}"#, "key \"capture\" holds 'a b'"),
        (#"{"url": "http://h/", "capture": {"a": "$.x"}}"#, "a JSON Pointer such as /items/0/id"),
        (#"{"url": "http://h/", "assert": "status == 200"}"#, "key \"assert\" is a string"),
        (#"{"url": "http://h/", "assert": ["status = 200"]}"#, "an assertion is malformed"),
        (#"{"url": "http://h/${"}"#, "write ${name}, or $${"),
        (#"{"url": "http://h/", "method": "PUT", "body": {"file": "/tmp/${HOST}"}}"#, "the path of a file"),
        ("{\"url\": \"http://h/\"}\n{\"url\": }", "line 2, column 9"),
    ]

    @Test(arguments: mistakes) func `says in one line what is wrong in a file, and sends nothing`(
        text: String, part: String
    ) async throws {
        let file = try cachectl.file("requests.json", text)
        let sent = try await cachectl("send", file, environment: ["HOST": "x"])
        #expect(sent.status == 64 && sent.text.isEmpty && sent.errors.contains(part), "\(sent.errors)")
        #expect(sent.errors.split(separator: "\n").count == 1, "\(sent.errors)")
    }

    @Test func `escapes hostile names, and ends with 141 if its output is closed`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: #"{"a\u001b[31m": "\u202e\n"}"#) }
        let condition = #"/a\u001b[31m == 1"#
        let text = #"{"url": "${HOST}/x", "assert": ["\#(condition)"]}"#
        let sent = try await send(origin, "[\(text), \(text)]")
        #expect(sent.status == 7 && !sent.errors.contains("\u{1B}") && !sent.errors.contains("\u{202E}"))
        #expect(sent.errors.split(separator: "\n").count == 2, "\(sent.errors)")
        let file = try cachectl.file("two.json", #"[{"url": "\#(origin.base)/1"}, {"url": "\#(origin.base)/2"}]"#)
        let output = Pipe()
        let process = try ChildProcess(
            BuiltTool("cachectl").url, ["send", file, "--json", "--store", cachectl.temporary.directory.path],
            output: .pipe(output), errors: .null)
        try output.fileHandleForReading.close()
        #expect(await process.ended() == .exited(128 + SIGPIPE))
    }
}
