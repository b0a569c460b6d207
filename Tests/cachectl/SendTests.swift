import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl send", .limit(minutes: 5)) struct SendTests {
    let cachectl = Shell()

    private func cities() async throws -> String { try await SampleServer.shared.base + "/cities" }

    @Test func `prints the body, its source and the duration`() async throws {
        let url = try await cities()
        let first = try await cachectl("send", url, "-p", "country=DE", "-p", "minPopulation=1000000")
        #expect(first.status == 0)
        #expect(first.text.contains("\"name\":\"Munich\""))
        #expect(first.errors.wholeMatch(of: #/200, \d+ B from network in [\d.]+ m?s\n/#) != nil, "\(first.errors)")
        let second = try await cachectl("send", url, "-p", "minPopulation=1000000", "-p", "country=DE")
        #expect(second.output == first.output)
        #expect(second.errors.contains("from cache in"))
        let other = try await cachectl("send", url, "-p", "country=FR", "-p", "minPopulation=1000000")
        #expect(other.errors.contains("from network in"))
    }

    @Test func `reads a request from a file and from standard input`() async throws {
        let text = #"{"url": "\#(try await cities())", "parameters": {"country": "IS"}}"#
        let fromFile = try await cachectl("send", cachectl.file("request.json", text))
        let fromInput = try await cachectl("send", "-", input: text)
        #expect(fromFile.text.contains("Reykjav"))
        #expect(fromInput.output == fromFile.output)
        #expect(fromInput.errors.contains("from cache"))
    }

    @Test(
        arguments: [
            ([], "proxy"), (["--proxy", "none"], "direct"), (["--proxy", "http://127.0.0.1:1"], nil),
        ] as [([String], String?)])
    func `uses the proxy of the environment, the proxy of --proxy, or none`(
        options: [String],
        answer: String?
    ) async throws {
        let proxy = try RawServer(answering: "HTTP/1.1 200 OK\r\n\r\nproxy")
        let direct = try RawServer(answering: "HTTP/1.1 200 OK\r\n\r\ndirect")
        let environment = ["http_proxy": proxy.base, "no_proxy": ""]
        let sent = try await cachectl(["send", direct.base] + options, environment: environment)
        #expect(sent.text == answer ?? "" && (sent.status == 0) == (answer != nil), "\(sent.errors)")
    }

    @Test func `sends a curl command`() async throws {
        let command = "curl -G -d country=IS '\(try await cities())' -H 'Accept: application/json'"
        let sent = try await cachectl("send", command)
        #expect(sent.text.contains("Reykjav"))
    }

    @Test func `takes a named secret from the environment, and does not reveal it in keys, lists and statistics`()
        async throws
    {
        let url = try await SampleServer.shared.base + "/wire/echo?_maxAge=60"
        let text =
            #"{"url": "\#(url)", "identity": "me", "credentials": [{"prefix": "Bearer ", "secret": "api-token"}]}"#
        let file = try cachectl.file("secret.json", text)
        let missing = try await cachectl("send", file)
        #expect(missing.status == 64)
        #expect(missing.errors.contains("'api-token'"))
        let sent = try await cachectl("send", file, environment: ["API_TOKEN": "s3cret-token"])
        #expect(sent.status == 0)
        // The server echoes the request, with the secret.
        #expect(sent.text.contains("Bearer s3cret-token"))
        for command in [["key", file], ["key", file, "--explain"], ["list"], ["list", "--json"], ["stats"]] {
            let shown = try await cachectl(command, environment: ["API_TOKEN": "s3cret-token"])
            #expect(!shown.text.contains("s3cret") && !shown.errors.contains("s3cret"))
        }
    }

    @Test func `prints JSON with --json, with masked cookies`() async throws {
        let sent = try await cachectl("send", SampleServer.shared.base + "/wire/headers", "--json")
        let json = try #require(JSONSerialization.jsonObject(with: sent.output) as? [String: Any])
        #expect(json["status"] as? Int == 200)
        #expect(json["source"] as? String == "network")
        #expect(json["body"] as? String == "{}")
        #expect(json["milliseconds"] is Double)
        let cookies = (json["headers"] as? [[String]])?.filter { $0[0].lowercased() == "set-cookie" }
        #expect(cookies?.map { $0[1] } == ["•••", "•••"])
    }

    @Test func `masks the secrets of response headers in its output and in the store`() async throws {
        let fields =
            "X-Auth-Token: s3cret\r\nContent-Location: /?sig=s3cret\r\nCache-Control: max-age=60\r\nETag: \"1\""
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: 2\r\n\r\n{}")
        let sent = try await cachectl("send", server.base + "/a", "--json")
        let json = try #require(JSONSerialization.jsonObject(with: sent.output) as? [String: Any])
        let headers = try #require(json["headers"] as? [[String]])
        #expect(headers.contains(["X-Auth-Token", "•••"]) && headers.contains(["Content-Location", "/?sig=•••"]))
        let listed = try await cachectl("list", "--json")
        let entry = (try JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])?.first
        let shown = try await cachectl("show", try #require(entry?["key"] as? String))
        #expect(shown.text.contains("ETag: \"1\"") && !(sent.text + shown.text + listed.text).contains("s3cret"))
        #expect(try cachectl.temporary.bytes().firstRange(of: Data("s3cret".utf8)) == nil)
    }

    @Test func `sends method, headers and a JSON body, byte for byte`() async throws {
        let url = try await SampleServer.shared.base + "/wire/echo"
        let sent = try await cachectl("send", url, "--json-body", #"{"b": 1, "a": "ü"}"#, "-H", "X-Tenant: 9")
        let echo = try #require(JSONSerialization.jsonObject(with: sent.output) as? [String: Any])
        let headers = try #require(echo["headers"] as? [[String]]).map { ($0[0].lowercased(), $0[1]) }
        #expect(echo["method"] as? String == "POST")
        #expect(echo["body"] as? String == Data(#"{"b": 1, "a": "ü"}"#.utf8).base64EncodedString())
        #expect(headers.contains { $0 == ("content-type", "application/json") })
        #expect(headers.contains { $0 == ("x-tenant", "9") })
        let put = try await cachectl("send", url, "-X", "PUT", "-p", "a=1", "-p", "b")
        #expect(put.text.contains("PUT"))
    }

    @Test func `obeys --policy and --max-age`() async throws {
        let url = try await SampleServer.shared.base + "/wire/gzip"  // sends no caching headers
        let nothing = try await cachectl("send", url, "--policy", "cacheOnly")
        #expect(nothing.status == 1)
        #expect(nothing.errors.hasPrefix("504, nothing stored in"))
        #expect(try await cachectl("send", url, "--max-age", "60").errors.contains("from network"))
        #expect(try await cachectl("send", url, "--max-age", "60").errors.contains("from cache"))
        #expect(try await cachectl("send", url, "--policy", "reload").errors.contains("from network"))
        #expect(try await cachectl("send", url, "--policy", "cacheOnly").errors.contains("from cache, stale"))
    }

    @Test func `exits with 6 if the request is queued, and names the job`() async throws {
        let policies = #""retry": {"attempts": 1}, "replay": {"mode": "durable"}"#
        let text = #"{"url": "http://127.0.0.1:1/", "method": "PUT", \#(policies)}"#
        let kept = try await cachectl("send", "-", input: text)
        #expect(kept.status == 6 && kept.output.isEmpty && kept.errors.contains("job 1"), "\(kept.errors)")
        let again = try await cachectl("send", "-", "--json", input: text)
        #expect(again.status == 6 && again.text.filter { !$0.isWhitespace } == #"{"queued":2}"#, "\(again.text)")
        let nowhere = try await cachectl(["send", "-", "--store", "/dev/null/x"], input: text)
        #expect(nowhere.status == 4, "\(nowhere.errors)")
    }

    @Test func `revalidates a stale response`() async throws {
        let url = try await cities() + "/2988507"
        #expect(try await cachectl("send", url, "-p", "_maxAge=0").errors.contains("from network"))
        #expect(try await cachectl("send", url, "-p", "_maxAge=0").errors.contains("from cache, confirmed"))
    }

    @Test func `exits with 2 for an error status, and prints the body`() async throws {
        let missing = try await cachectl("send", cities() + "/1")
        #expect(missing.status == 2)
        #expect(missing.text.contains("404"))
        #expect(missing.errors.hasPrefix("404, "))
    }

    @Test(
        arguments: [
            (["http://127.0.0.1:1/"], 3, "refused"), (["http://h/", "--proxy", "foo"], 64, "proxy"),
            ([#"{"url": "http://h/?token=s3cret"}"#], 64, "pipe it to -"), (["A: s3cret"], 64, "the source is neither"),
            (["no-such-file"], 64, "'no-such-file' is neither"),
            (["http://h/%zz"], 64, "write %25"), (["example.com"], 64, "begin a URL with https://"),
            (["http://h/", "-X", "G T"], 64, "is not a method"), (["http://h/", "-H", "nothing"], 64, "has no colon"),
            (["http://h/", "-H", "A: x\ny"], 64, "line break"),
            (["http://h/", "--json-body", "{"], 64, "--json-body: line 1, column 2"),
            (["http://h/", "--policy", "maybe"], 64, "give one of automatic"),
            (["http://h/", "--max-age", "-1"], 64, "--max-age"),
            ([], 64, "URL|FILE"),
        ] as [([String], Int32, String)])
    func `says in one line what is wrong and what to do`(arguments: [String], status: Int32, part: String) async throws
    {
        var tool = BuiltTool("cachectl")
        tool.environment = ["DIAMOND_STORE": cachectl.temporary.directory.path]
        let outcome = try await tool.run(["send"] + arguments)
        #expect(outcome.status == status)
        #expect(outcome.errors.contains(part) && !outcome.errors.contains("s3cret"), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
        if !arguments.isEmpty && arguments != ["http://h/", "--max-age", "-1"] {
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        }
    }

    @Test func `prints no control characters and no secrets in its messages`() async throws {
        let odd = try await cachectl("send", "no\nfile\u{1B}[31m")
        #expect(odd.errors.split(separator: "\n").count == 1)
        #expect(!odd.errors.contains("\u{1B}"))
        let secret = try await cachectl("send", "me:s3cret@example.com/path?token=s3cret")
        #expect(secret.status == 64 && !secret.errors.contains("s3cret"))
    }

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "only Linux has a file that is always full"))
    func `exits with 74 and prints one line if its output cannot be written`() async throws {
        var shell = BuiltTool("")
        shell.url = URL(filePath: "/bin/sh")
        let command = "\(BuiltTool("cachectl").url.path) key http://h/ --store /nonexistent >/dev/full"
        let outcome = try await shell.run(["-c", command])
        #expect(outcome.status == 74)
        #expect(outcome.errors == "cachectl: the output cannot be written: send it elsewhere\n")
    }

    @Test func `revalidates a response that it served stale before it exits`() async throws {
        let url = try await SampleServer.shared.base + "/wire/bytes/10"
        let arguments = ["-p", "_maxAge=0", "-p", "_noValidators=1", "--policy", "staleWhileRevalidate", "--json"]
        var tool = BuiltTool("cachectl")
        tool.environment = ["DIAMOND_STORE": cachectl.temporary.directory.path]
        _ = try await tool.run(["send", url] + arguments)
        let before = try Cache(cachectl.temporary.store).list(limit: 1).first?.storedAt
        let stale = try await tool.run(["send", url] + arguments)
        #expect(stale.text.contains("\"stale\""))
        let after = try Cache(cachectl.temporary.store).list(limit: 1).first?.storedAt
        #expect(try #require(after) > #require(before))
    }

    @Test func `names the invalid key of a request file, or the line and column of malformed JSON`() async throws {
        let unknown = try await cachectl("send", cachectl.file("a.json", #"{"url": "http://h/", "metod": "PUT"}"#))
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("a.json: key \"metod\""))
        let broken = try await cachectl("send", cachectl.file("b.json", "{\n  \"url\": }"))
        #expect(broken.errors.contains("b.json: line 2, column 10"))
    }

    @Test func `sends without a cache if the store cannot be used, and says so`() async throws {
        try Data().write(to: cachectl.temporary.directory)
        let sent = try await cachectl("send", cities(), "-p", "country=IS")
        #expect(sent.status == 0)
        #expect(sent.text.contains("Reykjav"))
        #expect(sent.errors.contains("sent without a cache: cannot create the store directory"))
    }

    @Test func `leaves no secret in the store or on the terminal`() async throws {
        let url = try await cities().replacing("http://", with: "http://me:s3cret@")
        let sent = try await cachectl("send", url, "-p", "country=IS", "-H", "Authorization: Bearer s3cret")
        #expect(sent.status == 0, "\(sent.errors)")
        let key = try await cachectl("key", url + "?token=s3cret", "-H", "Cookie: s3cret")
        let listed = try await cachectl("list")
        let json = try await cachectl("list", "--json")
        for outcome in [sent, key, listed, json] { #expect(!(outcome.text + outcome.errors).contains("s3cret")) }
        #expect(try cachectl.temporary.bytes().range(of: Data("s3cret".utf8)) == nil)
    }
}
