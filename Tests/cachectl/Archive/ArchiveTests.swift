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

    private func entries(_ options: String...) async throws -> [StrictArchive.Entry] {
        let exported = try await cachectl(["export", "--har"] + options)
        #expect(exported.status == 0 && exported.errors.isEmpty, "\(exported.errors)")
        return try StrictArchive.entries(of: exported.output)
    }

    private func entry(_ part: String, _ options: String...) async throws -> StrictArchive.Entry {
        let all = try await cachectl(["export", "--har", "--match", part] + options)
        let entries = try StrictArchive.entries(of: all.output)
        #expect(entries.count == 1)
        return try #require(entries.first)
    }

    @Test func `is an archive of the entries as HAR 1.2 demands it`() async throws {
        try await fill()
        #expect(try await entries().count == 3)
        let entry = try await entry("cities")
        let request = entry.request
        #expect(request.method == "GET" && entry._identity == "anna")
        #expect(request.url.absoluteString == "https://a.example/cities?country=DE&q=a%20b")
        #expect(request.queryString == [.init(name: "country", value: "DE"), .init(name: "q", value: "a b")])
        #expect(request.headers.contains(.init(name: "accept", value: "application/json")))
        #expect(entry.response.status == 200 && entry.time >= 0)
    }

    @Test func `has the bodies of texts, and others in base64`() async throws {
        try await fill()
        let content = try await entry("image").response.content
        #expect(content.encoding == "base64" && content.text == "/wA=" && content.mimeType == "image/png")
    }

    @Test func `has no secrets unless asked, and never those of requests`() async throws {
        try await fill()
        let masked = try await cachectl("export", "--har")
        #expect(!masked.text.contains("s3cret") && masked.text.contains("•••"))
        #expect(try await entry("cities").response.content.text == #"{"token":"•••","n":1}"#)
        let mine = try await entry("mine").request
        #expect(mine.headers.contains(.init(name: "authorization", value: "•••")))
        #expect(mine.url.absoluteString.hasSuffix("?token=%E2%80%A2%E2%80%A2%E2%80%A2"))
        let asked = try await cachectl("export", "--har", "--with-secrets")
        #expect(asked.text.contains(#"{\"token\":\"s3cret\",\"n\":1}"#) && !asked.text.contains("Bearer"))
    }

    @Test func `escapes hostile names, and ends without a reader`() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/", headers: "X-Name: a\u{202E}\u{9B}b\n", body: Data("\u{1B}\0".utf8))
        ])
        let exported = try await cachectl("export", "--har")
        #expect(!exported.text.unicodeScalars.contains { $0 != "\n" && !$0.isPrintable })
        #expect(try StrictArchive.entries(of: exported.output).first?.response.content.text == "\u{1B}\0")
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
        #expect(imported.errors.hasPrefix("2 left out: not GET or QUERY, "), "\(imported.errors)")
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

    /// Returns an archive with one exchange for each response: its members, and the seconds since it was received.
    private func archive(_ responses: [(members: String, age: TimeInterval)]) -> String {
        let entries = responses.enumerated().map { number, response in
            let started = Date(timeIntervalSinceNow: -response.age).formatted(.iso8601)
            return """
                {"startedDateTime": "\(started)", "request": {"method": "GET", "url": "https://a.example/\(number)"},
                 "response": {"status": 200, \(response.members)}}
                """
        }
        return #"{"log": {"version": "1.2", "entries": [\#(entries.joined(separator: ","))]}}"#
    }

    private static let fresh = #"{"name": "Cache-Control", "value": "max-age=600"}"#

    @Test(
        arguments: [
            (#""content": {"size": 39}"#, nil), (#""content": {"size": 0}"#, Data()), (#""bodySize": 0"#, nil),
            (#""content": {"text": "é"}"#, Data("é".utf8)),
            (#""content": {"text": "é", "size": 1}, "charset": "iso-8859-1""#, Data([0xE9])),
            (#""content": {"text": "€"}, "charset": "iso-8859-1""#, nil),
            (#""content": {"text": "e"}, "charset": "windows-1252""#, Data("e".utf8)),
            (#""content": {"text": "é"}, "charset": "windows-1252""#, nil),
            (#""content": {"text": "e"}, "charset": "utf-16""#, nil),
        ] as [(String, Data?)])
    func `imports a body only as the server sent it`(members: String, body: Data?) async throws {
        let charset = members.split(separator: "\"charset\": \"").dropFirst().first?.dropLast() ?? "UTF-8"
        let type = #"{"name": "Content-Type", "value": "text/plain; charset=\#(charset)"}"#
        let text = archive([(#""headers": [\#(Self.fresh), \#(type)], \#(members)"#, 30)])
        let imported = try await cachectl("import", "-", input: text)
        #expect(imported.text == (body == nil ? "stored 0 entries, 1 left out\n" : "stored 1 entry\n"), "\(imported)")
        let sent = try await cachectl("send", "https://a.example/0", "--policy", "cacheOnly")
        #expect(body == nil ? sent.status == 1 : sent.output == body)
    }

    @Test func `leaves the responses of the store that are newer, and replaces older ones`() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/0", body: Data("stored".utf8), age: 60_000),
            StoredEntry(url: "https://a.example/1", body: Data("stored".utf8), age: 60_000),
        ])
        let members = #""headers": [\#(Self.fresh)], "content": {"text": "imported"}"#
        let imported = try await cachectl("import", "-", input: archive([(members, 90), (members, 30)]))
        #expect(imported.text == "stored 1 entry, 1 left out\n", "\(imported.errors)")
        for (number, text) in ["stored", "imported"].enumerated() {
            let sent = try await cachectl("send", "https://a.example/\(number)", "--policy", "cacheOnly")
            #expect(sent.text == text)
        }
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
                "GET 200 application/json 21", "GET 200 application/json 21", "GET 200 image/png 4",
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

/// A reader that refuses an archive in which a member is missing that HAR 1.2 demands, or has another type.
struct StrictArchive: Decodable {
    struct Pair: Decodable, Hashable { var name, value: String }

    struct Request: Decodable {
        var method, httpVersion: String
        var url: URL
        var cookies, headers, queryString: [Pair]
        var headersSize, bodySize: Int
    }

    struct Response: Decodable {
        struct Content: Decodable {
            var size: Int
            var mimeType, text: String
            var encoding: String?
        }
        var status: Int
        var statusText, httpVersion, redirectURL: String
        var cookies, headers: [Pair]
        var content: Content
        var headersSize, bodySize: Int
    }

    struct Entry: Decodable {
        struct Timings: Decodable { var send, wait, receive: Double }
        var startedDateTime, _identity: String?
        var time: Double
        var request: Request
        var response: Response
        var cache: [String: String]
        var timings: Timings

        var isConsistent: Bool {
            let (content, sum) = (response.content, timings.send + timings.wait + timings.receive)
            let body = content.encoding == nil ? Data(content.text.utf8) : Data(base64Encoded: content.text)
            return startedDateTime.flatMap { InternetTime.date($0) } != nil && time == sum
                && body?.count == content.size
                && request.url.host != nil && !request.method.isEmpty && response.status >= 100
        }
    }

    struct Log: Decodable {
        struct Creator: Decodable { var name, version: String }
        var version: String
        var creator: Creator
        var pages, entries: [Entry]
    }

    var log: Log

    static func entries(of data: Data) throws -> [Entry] {
        let log = try JSONDecoder().decode(Self.self, from: data).log
        #expect(log.version == "1.2" && log.creator.name == "cachectl" && log.entries.allSatisfy(\.isConsistent))
        return log.entries
    }
}
