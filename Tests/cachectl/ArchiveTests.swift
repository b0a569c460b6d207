import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("cachectl export and import", .limit(minutes: 5)) struct ArchiveTests {
    let cachectl = Shell()

    /// Stores a response through an engine, as a program does.
    private func fill() async throws {
        var configuration = Engine.Configuration(store: cachectl.temporary.store)
        configuration.transport = StubTransport { request throws(TransportError) in
            var headers: HTTPFields = [.cacheControl: "max-age=600", .contentType: "application/json"]
            if request.url.contains("image") { headers[.contentType] = "image/png" }
            headers[.setCookie] = "id=s3cret"
            if let name = HTTPField.Name("X-Api-Key") { headers[name] = "s3cret" }
            let body = request.url.contains("image") ? Data([0xFF, 0x00]) : Data(#"{"token":"s3cret","n":1}"#.utf8)
            return .stub(headers: headers, body: body)
        }
        let engine = Engine(configuration)
        for request in [
            Request("https://a.example/cities?country=DE&q=a%20b", headers: [.accept: "application/json"]),
            Request("https://a.example/image"),
            Request("https://a.example/mine?token=s3cret", headers: [.authorization: "Bearer s3cret"]),
        ] {
            var request = request
            request.identity = request.url.contains("mine") ? nil : "anna"
            _ = try await engine.send(request)
        }
        await engine.close()
    }

    private func entries(_ options: String...) async throws -> [[String: Any]] {
        let exported = try await cachectl(["export", "--har"] + options)
        #expect(exported.status == 0 && exported.errors.isEmpty, "\(exported.errors)")
        return try StrictArchive.entries(of: exported.output)
    }

    private func entry(_ part: String, _ options: String...) async throws -> [String: Any] {
        let all = try await cachectl(["export", "--har", "--match", part] + options)
        let entries = try StrictArchive.entries(of: all.output)
        #expect(entries.count == 1)
        return try #require(entries.first)
    }

    @Test func `is an archive of the entries as HAR 1.2 demands it`() async throws {
        try await fill()
        #expect(try await entries().count == 3)
        let entry = try await entry("cities")
        let request = try #require(entry["request"] as? [String: Any])
        #expect(request["method"] as? String == "GET" && entry["_identity"] as? String == "anna")
        #expect(request["url"] as? String == "https://a.example/cities?country=DE&q=a%20b")
        let query = request["queryString"] as? [[String: String]]
        #expect(query == [["name": "country", "value": "DE"], ["name": "q", "value": "a b"]])
        let fields = request["headers"] as? [[String: String]]
        #expect(fields?.contains(["name": "accept", "value": "application/json"]) == true)
        let response = try #require(entry["response"] as? [String: Any])
        #expect(response["status"] as? Int == 200 && response["statusText"] as? String == "OK")
    }

    @Test func `has the bodies of texts, and others in base64`() async throws {
        try await fill()
        let image = try await entry("image")["response"] as? [String: Any]
        let content = try #require(image?["content"] as? [String: Any])
        #expect(content["encoding"] as? String == "base64" && content["text"] as? String == "/wA=")
        #expect(content["size"] as? Int == 2 && content["mimeType"] as? String == "image/png")
    }

    @Test func `has no secrets unless asked, and never those of requests`() async throws {
        try await fill()
        let masked = try await cachectl("export", "--har")
        #expect(!masked.text.contains("s3cret") && masked.text.contains("•••"))
        let response = try await entry("cities")["response"] as? [String: Any]
        #expect((response?["content"] as? [String: Any])?["text"] as? String == #"{"token":"•••","n":1}"#)
        let mine = try await entry("mine")["request"] as? [String: Any]
        #expect((mine?["headers"] as? [[String: String]])?.contains(["name": "authorization", "value": "•••"]) == true)
        #expect((mine?["url"] as? String)?.hasSuffix("?token=%E2%80%A2%E2%80%A2%E2%80%A2") == true)
        let asked = try await cachectl("export", "--har", "--with-secrets")
        #expect(asked.text.contains(#"{\"token\":\"s3cret\",\"n\":1}"#) && !asked.text.contains("Bearer"))
    }

    @Test func `escapes hostile names, and ends without a reader`() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/", headers: "X-Name: a\u{202E}\u{9B}b\n", body: Data("\u{1B}\0".utf8))
        ])
        let exported = try await cachectl("export", "--har")
        #expect(!exported.text.unicodeScalars.contains { $0 != "\n" && !$0.isPrintable })
        let response = try StrictArchive.entries(of: exported.output).first?["response"] as? [String: Any]
        #expect((response?["content"] as? [String: Any])?["text"] as? String == "\u{1B}\0")
        #expect(try await cachectl("export").status == 64)
        #expect(try await cachectl("import", "-", input: "{}").status == 64)
        #expect(try await cachectl("import", "/nonexistent").errors.contains("cannot be read"))
    }

    @Test func `is imported into another store, with the ages that the responses have by now`() async throws {
        try await cachectl.store([
            StoredEntry(
                url: "https://a.example/cities",
                headers: "Cache-Control: max-age=3600\nContent-Type: text/csv\n", body: Data("ü;1".utf8), age: 600_000)
        ])
        try await fill()
        let file = try cachectl.file("cities.har", try await cachectl("export", "--har").text)
        let other = Shell()
        let imported = try await other("import", file)
        // Those with masked parts are left out.
        #expect(imported.text == "stored 2 entries, 2 left out\n" && imported.status == 0, "\(imported.errors)")
        let listed = try JSONSerialization.jsonObject(with: try await other("list", "--json").output)
        let entries = try #require(listed as? [[String: Any]])
        #expect(
            Set(entries.compactMap { $0["url"] as? String }) == ["https://a.example/cities", "https://a.example/image"])
        let old = try #require(entries.first { ($0["url"] as? String)?.hasSuffix("cities") == true })
        #expect((600...660).contains(old["age"] as? Int ?? 0) && (2900...3000).contains(old["fresh"] as? Int ?? 0))
        let sent = try await other("send", "https://a.example/cities", "--policy", "cacheOnly")
        #expect(sent.status == 0 && sent.text == "ü;1")
        let again = try await other.object("import", file)
        #expect(again?["leftOut"] as? Int == 2)
    }

    @Test func `imports what a browser writes`() async throws {
        let started = Date(timeIntervalSinceNow: -30).formatted(.iso8601)
        let entry = { (url: String, method: String, headers: String) in
            """
            {"startedDateTime": "\(started)", "time": 1.5, "_priority": "High", "cache": {}, "timings": {"blocked": -1},
             "request": {"method": "\(method)", "url": "\(url)", "headers": [{"name": ":authority", "value": "h"},
              {"name": "sec-fetch-mode", "value": "cors"}, {"name": "cookie", "value": "a=b"}], "bodySize": 0},
             "response": {"status": 200, "headers": [\(headers)], "content": {"size": 4, "text": "AAEC/w==",
              "encoding": "base64"}, "_transferSize": 0, "_error": null}}
            """
        }
        let fresh = #"{"name": "cache-control", "value": "max-age=60"}, {"name": "content-encoding", "value": "gzip"}"#
        let entries = [
            entry("https://a.example/1", "GET", fresh), entry("https://a.example/2", "POST", fresh),
            entry("https://a.example/3", "GET", #"{"name": "cache-control", "value": "no-store"}"#),
            entry("no URL", "GET", fresh),
        ]
        let text = #"{"log": {"version": "1.2", "entries": [\#(entries.joined(separator: ","))]}}"#
        let imported = try await cachectl("import", "-", input: text)
        #expect(imported.text == "stored 1 entry, 3 left out\n", "\(imported.errors)")
        let sent = try await cachectl("send", "https://a.example/1", "--policy", "cacheOnly")
        #expect(sent.output == Data([0, 1, 2, 255]))
    }

    @Test(.enabled(if: Haralyzer.isInstalled, "needs Python's haralyzer")) func `is read by haralyzer`() async throws {
        try await fill()
        let file = try cachectl.file("cities.har", try await cachectl("export", "--har").text)
        let script = """
            import json, sys
            from haralyzer import HarParser
            page = HarParser(json.load(open(sys.argv[1]))).pages[0]
            for entry in page.entries:
                response = entry.response
                print(entry.request.method, response.status, response.mimeType, len(response.text or ""))
            """
        let outcome = try await Haralyzer.python.run(["-c", script, file])
        let lines = outcome.text.split(separator: "\n").sorted()
        #expect(
            lines == [
                "GET 200 application/json 27", "GET 200 application/json 27", "GET 200 image/png 4",
            ], "\(outcome.errors)")
    }
}

/// Python with haralyzer: `DIAMOND_PYTHON`, or the one in the path.
private enum Haralyzer {
    static var python: BuiltTool {
        var tool = BuiltTool("")
        let path = ProcessInfo.processInfo.environment["DIAMOND_PYTHON"] ?? "/usr/bin/python3"
        tool.url = URL(filePath: path)
        return tool
    }

    static let isInstalled: Bool = {
        let process = Process()
        process.executableURL = python.url
        process.arguments = ["-c", "import haralyzer"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}

/// A reader that refuses what HAR 1.2 does not allow.
private enum StrictArchive {
    struct Violation: Error { let what: String }

    static func entries(of data: Data) throws -> [[String: Any]] {
        let log = try object(JSONSerialization.jsonObject(with: data), "log")
        let (version, creator) = (try text(log, "version"), try object(log, "creator"))
        guard version == "1.2", !(try text(creator, "name").isEmpty), !(try text(creator, "version").isEmpty) else {
            throw Violation(what: "log")
        }
        guard log["pages"] is [Any], let entries = log["entries"] as? [[String: Any]] else {
            throw Violation(what: "lists")
        }
        for entry in entries { try check(entry) }
        return entries
    }

    private static func check(_ entry: [String: Any]) throws {
        guard InternetTime.date(try text(entry, "startedDateTime")) != nil else { throw Violation(what: "time") }
        let (request, response) = (try object(entry, "request"), try object(entry, "response"))
        let (timings, content) = (try object(entry, "timings"), try object(response, "content"))
        let times = try ["send", "wait", "receive"].map { try number(timings, $0) }
        guard try number(entry, "time") == times.reduce(0, +), times.allSatisfy({ $0 >= 0 }) else {
            throw Violation(what: "timings")
        }
        _ = try object(entry, "cache")
        for message in [request, response] {
            _ = try text(message, "httpVersion")
            for name in ["headersSize", "bodySize"] where try number(message, name) < -1 { throw Violation(what: name) }
            for pair in try list(message, "headers") + list(message, "cookies") { try check(pair: pair) }
        }
        for pair in try list(request, "queryString") { try check(pair: pair) }
        guard URL(string: try text(request, "url"))?.host != nil, !(try text(request, "method").isEmpty) else {
            throw Violation(what: "request")
        }
        _ = (try text(response, "statusText"), try text(response, "redirectURL"), try text(content, "mimeType"))
        let body = try text(content, "text")
        let size = content["encoding"] == nil ? body.utf8.count : Data(base64Encoded: body)?.count
        guard try number(response, "status") >= 100, try number(content, "size") == size.map(Double.init) else {
            throw Violation(what: "content")
        }
    }

    private static func check(pair: [String: Any]) throws { _ = (try text(pair, "name"), try text(pair, "value")) }

    private static func object(_ parent: Any, _ name: String) throws -> [String: Any] {
        guard let object = (parent as? [String: Any])?[name] as? [String: Any] else { throw Violation(what: name) }
        return object
    }

    private static func list(_ parent: [String: Any], _ name: String) throws -> [[String: Any]] {
        guard let list = parent[name] as? [[String: Any]] else { throw Violation(what: name) }
        return list
    }

    private static func text(_ parent: [String: Any], _ name: String) throws -> String {
        guard let text = parent[name] as? String else { throw Violation(what: name) }
        return text
    }

    private static func number(_ parent: [String: Any], _ name: String) throws -> Double {
        guard let number = parent[name] as? NSNumber else { throw Violation(what: name) }
        return number.doubleValue
    }
}
