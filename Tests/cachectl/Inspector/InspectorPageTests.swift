import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import cachectl

@Suite("cachectl serve: the pages of the cache", .limit(minutes: 5)) struct InspectorPageTests {
    let cachectl = Shell()

    /// Returns the keys of the entries, the newest first.
    func keys() async throws -> [String] {
        let listed = try await cachectl("list", "--json", "--limit", "500")
        let entries = try #require(JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])
        return entries.compactMap { $0["key"] as? String }
    }

    /// Returns each page, and each file of an entry.
    func pages(_ browser: Browser, key: String) async throws -> [(path: String, answer: RawAnswer)] {
        var pages: [(path: String, answer: RawAnswer)] = []
        let all = [
            Overview.routes, EntriesPage.routes, EntryPage.routes, EntryFiles.routes, EntryActions.routes,
            TimelinePage.routes, SendPage.routes,
        ].flatMap(\.self)
        let routes = all.filter { $0.method == .get && !$0.path.hasSuffix("/live") }
        for path in InspectorAccessTests.paths(routes, key: key) { pages.append((path, try await browser.get(path))) }
        return pages
    }

    // MARK: Names and secrets

    @Test func `hostile names are text`() async throws {
        let names = ["<script>alert(1)</script>", "\"\u{301} autofocus onfocus=alert(1) x=\"", "'\u{300}><img src=x>"]
        for (number, name) in names.enumerated() {
            let encoded = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let header = "X-Name: \(name.unicodeScalars.filter(\.isASCII).map(String.init).joined())"
            try await cachectl.store([
                StoredEntry(
                    url: "http://h/\(number)?name=\(encoded)",
                    headers: "ETag: \"1\"\nContent-Type: text/html\n\(header)\n",
                    body: Data(name.utf8))
            ])
        }
        let browser = try await RunningInspector("--write", shell: cachectl).enter()
        for key in try await keys() {
            for (path, answer) in try await pages(browser, key: key)
            where answer.values("Content-Type").first?.hasPrefix("text/html") == true {
                for piece in ["<script>alert", "<img src=x", " onfocus=alert(1) x=\""] {
                    #expect(!answer.body.contains(piece), "\(path) has \(piece)")
                }
                #expect(answer.body.utf8.firstRange(of: "\"\u{301}".utf8) == nil, "\(path)")
            }
        }
        let search = try await browser.get("/entries?url=%22%CC%81+onfocus%3D1+x%3D%22")
        #expect(search.body.utf8.firstRange(of: "value=\"&quot;".utf8) != nil, "\(search.body)")
    }

    @Test func `no page and no file has a secret`() async throws {
        let secret = "SECRET-VALUE"
        try await cachectl.store([
            StoredEntry(
                url: "http://h/secrets?page=1",
                headers: "ETag: \"1\"\nSet-Cookie: session=\(secret)\nContent-Type: application/json\n"
                    + "Location: /next?api_key=\(secret)\n",
                body: Data(#"{"access_token":"\#(secret)","id":9007199254740993}"#.utf8))
        ])
        let browser = try await RunningInspector("--write", shell: cachectl).enter()
        for (path, answer) in try await pages(browser, key: try #require(try await keys().first)) {
            #expect(answer.status == (path.hasSuffix("/image") ? 404 : 200), "\(path): \(answer.head)")
            #expect(!answer.body.contains(secret), "\(path)")
        }
        // Nor does a search tell it, letter by letter.
        #expect(try await browser.get("/entries?body=\(secret)").body.contains("0 entries"))
        #expect(try await browser.get("/entries?field=Set-Cookie:\(secret)").body.contains("0 entries"))
    }

    @Test func `integers are exact`() async throws {
        let body = #"{"id":9007199254740993,"big":123456789012345678901234567890,"e":1.10}"#
        try await cachectl.store([
            StoredEntry(
                url: "http://h/a", headers: "ETag: \"1\"\nContent-Type: application/json\n", body: Data(body.utf8))
        ])
        let browser = try await RunningInspector(shell: cachectl).enter()
        let key = try #require(try await keys().first)
        let page = try await browser.get("/entries/\(key)").body
        for number in ["9007199254740993", "123456789012345678901234567890", "1.10"] {
            #expect(page.contains(": \(number)"), "\(number)")
        }
        #expect(try await browser.get("/entries/\(key)/body").body == body)
        #expect(try await browser.get("/entries/\(key)/har").body.contains("9007199254740993"))
    }

    // MARK: Searching

    @Test func `pages of a search have every entry once`() async throws {
        try await cachectl.store((0..<120).map { StoredEntry(url: "http://h/\($0)", status: $0 % 2 == 0 ? 200 : 404) })
        let browser = try await RunningInspector(shell: cachectl).enter()
        for (query, count) in [("", 120), ("status=4xx", 60), ("by=url&url=h/1", 31), ("body=body&by=largest", 120)] {
            var (found, path): ([Substring], String?) = ([], "/entries?\(query)")
            while let current = path {
                let page = try await browser.get(current).body
                found += page.matches(of: #/href="/entries/([0-9a-f]{64})"/#).map(\.output.1)
                path = page.firstMatch(of: #/href="(/entries\?[^"]*after=[^"]*)"/#)
                    .map { String($0.output.1).replacing("&amp;", with: "&") }
            }
            #expect(found.count == count && Set(found).count == count, "\(query)")
        }
    }

    @Test(arguments: [
        ("url=%2FCITIES", 1), ("method=get", 3), ("method=POST", 0), ("status=404", 1), ("stale=yes", 1),
        ("field=x-kind", 1), ("field=X-Kind%3A+two", 1), ("field=X-Kind%3A+none", 0), ("body=text+one", 1),
        ("url=h&status=200&body=text", 2),
    ]) func `a search is by URL, method, status, staleness, field and body`(query: String, count: Int) async throws {
        try await cachectl.store([
            StoredEntry(url: "http://h/cities", body: Data("text one".utf8)),
            StoredEntry(url: "http://h/gone", status: 404),
            StoredEntry(
                url: "http://h/old", headers: "ETag: \"1\"\nX-Kind: number two\n", body: Data("text".utf8), age: 90_000),
        ])
        let browser = try await RunningInspector(shell: cachectl).enter()
        let page = try await browser.get("/entries?\(query)").body
        #expect(page.contains("<p id=\"summary\" role=\"status\">\(Quantity.entries(count))</p>"), "\(page)")
    }

    @Test func `a note about a purged entry is on one page`() async throws {
        try await cachectl.store((0..<60).map { StoredEntry(url: "http://h/\($0)") })
        let page = try await RunningInspector(shell: cachectl).enter().get("/entries?url=h&purged=0123").body
        #expect(page.contains("0123 was purged"))
        let next = try #require(page.firstMatch(of: #/href="(/entries\?[^"]*after=[^"]*)"/#)?.output.1)
        #expect(!next.contains("purged") && next.contains("url=h"))
    }

    @Test func `a search stops when its time is over, and goes on from there`() async throws {
        try await cachectl.store((0..<1200).map { StoredEntry(url: "http://h/\($0)") })
        let cache = try Cache(cachectl.temporary.store, create: false)
        for (query, most) in [("url=/1199", 2), ("body=body&url=/119", 2)] {
            var found: [String] = []
            var (query, steps) = (query, 0)
            while steps < 2000 {
                steps += 1
                let page = try EntrySearch(FormFields(query)).run(in: cache, at: .now) { true }
                found += page.entries.map(\.url)
                guard let next = page.next else { break }
                query = FormFields(query).address("", replacing: "after", with: next.text).dropFirst().description
            }
            #expect(found.contains("http://h/1199") && Set(found).count == found.count)
            #expect(steps > most)
        }
    }

    @Test func `a search that cannot be read says what to write`() async throws {
        try await cachectl.store([StoredEntry(url: "http://h/a")])
        let browser = try await RunningInspector(shell: cachectl).enter()
        for query in ["status=4000", "after=nonsense"] {
            let page = try await browser.get("/entries?\(query)")
            #expect(page.status == 200 && page.body.contains("cannot be read:"), "\(page.head)")
        }
    }

    @Test(.limit(minutes: 5, soaking: 60)) func `a page of a large store is answered in 200 ms`() async throws {
        let count = Effort.rounds(3000, soaking: 1_000_000)
        for start in stride(from: 0, to: count, by: 5000) {
            try await cachectl.store((start..<min(start + 5000, count)).map { StoredEntry(url: "http://h/\($0)") })
        }
        let browser = try await RunningInspector(shell: cachectl).enter()
        for path in [
            "/", "/entries", "/entries?by=url", "/entries?url=none", "/entries?body=none", "/entries?field=None",
        ] {
            var times: [Duration] = []
            for _ in 0..<5 {
                let start = ContinuousClock.now
                #expect(try await browser.get(path).status == 200)
                times.append(ContinuousClock.now - start)
            }
            // Other tests take the processors meanwhile.
            let limit = Duration.milliseconds(Effort.isSoaking ? 200 : 2000)
            #expect(times.min() ?? limit < limit, "\(path): \(times)")
        }
    }

    // MARK: One entry

    @Test func `an entry says what decides, and what happens when`() async throws {
        try await cachectl.store([
            StoredEntry(
                url: "http://h/a",
                headers: "ETag: \"1\"\nCache-Control: max-age=60, stale-while-revalidate=30, stale-if-error=600\n")
        ])
        let browser = try await RunningInspector(shell: cachectl).enter()
        let page = try await browser.get("/entries/\(try #require(try await keys().first))").body
        for text in [
            "RFC 9111 section 4.2", "<dt>stale at</dt>", "while it is refreshed, until", "if the server fails",
        ] {
            #expect(page.contains(text), "\(text)")
        }
    }

    @Test func `invalidates, pins, and purges after a question`() async throws {
        try await cachectl.store([StoredEntry(url: "http://h/a")])
        let key = try #require(try await keys().first)
        let browser = try await RunningInspector("--write", shell: cachectl).enter()
        let path = "/entries/\(key)"
        #expect(try await browser.follow("\(path)/pin").body.contains("was pinned"))
        #expect(try await cachectl("list", "--json").text.contains("\"pinned\" : true"))
        #expect(try await browser.follow("\(path)/unpin").body.contains("may be evicted"))
        #expect(try await browser.follow("\(path)/invalidate").body.contains("was marked stale"))
        #expect(try await browser.follow("\(path)/invalidate").body.contains("already"))
        #expect(try await browser.follow("\(path)/purge").body.contains("Purge this entry?"))
        #expect(try await keys() == [key])
        #expect(try await browser.follow("\(path)/purge", "confirmed=yes").body.contains("was purged"))
        #expect(try await keys().isEmpty)
        let gone = try await browser.post("\(path)/purge", "confirmed=yes")
        #expect(gone.status == 404 && gone.body.contains("There is no such entry"))
    }

    @Test func `a request is edited and sent, with its response beside it`() async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", "Content-Type: application/json", body: #"{"id":9007199254740993}"#)
        }
        try await cachectl.store([StoredEntry(url: "\(origin.base)/a?page=1", identity: "anna")])
        let browser = try await RunningInspector("--write", shell: cachectl).enter()
        let form = try await browser.get("/entries/\(try #require(try await keys().first))/send").body
        #expect(form.contains("/a?page=1") && form.contains("It is shown here") && form.contains("anna"))
        let sent = try await browser.post("/send", "request=%7B%22url%22%3A%22\(origin.base)/b%22%7D")
        #expect(sent.status == 200 && sent.body.contains("200 from network in"), "\(sent.body)")
        #expect(sent.body.contains("9007199254740993"))
        #expect(origin.requests.map(\.target) == ["/b"])
        #expect(
            try await browser.post("/send", "request=%7B%22url%22%3A%22h%3A%2F%2F%E2%80%A2%E2%80%A2%E2%80%A2").status
                == 400)
        #expect(try await browser.post("/send", "request=nonsense").status == 400)
    }

    @Test func `a refresh of what is sent is waited for`() async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", "ETag: \"2\"", "Cache-Control: max-age=60", body: "new")
        }
        try await cachectl.store([
            StoredEntry(
                url: "\(origin.base)/a",
                headers: "ETag: \"1\"\nCache-Control: max-age=60, stale-while-revalidate=86400\n", age: 90_000)
        ])
        let browser = try await RunningInspector("--write", shell: cachectl).enter()
        let text = "request=%7B%22url%22%3A%22\(origin.base)/a%22%7D"
        #expect(try await browser.post("/send", text).body.contains("200 from stale in"))
        #expect(origin.requests.count == 1)
        #expect(try await browser.post("/send", text).body.contains("200 from cache in"))
    }

    @Test func `what is typed is not lost if nothing can be sent`() async throws {
        let seal = try AESGCMSeal(key: Data(repeating: 0x5A, count: 32), id: "2026")
        let transport = StubTransport(headers: [.cacheControl: "max-age=600"])
        let engine = cachectl.temporary.engine(transport) { $0.seal = seal }
        _ = try await engine.send(Request("http://h/"))
        await engine.close()
        let browser = try await RunningInspector("--write", shell: cachectl).enter()
        let answer = try await browser.post("/send", "request=%7B%22url%22%3A%22http://typed.example%22%7D")
        #expect(answer.status == 503 && answer.body.contains("http://typed.example"), "\(answer.head)")
    }

    // MARK: Other stores

    @Test func `a missing store is named, and shown when it is there`() async throws {
        let browser = try await RunningInspector(shell: cachectl).enter()
        for path in ["/", "/entries"] {
            let page = try await browser.get(path)
            #expect(page.status == 200 && page.body.contains("there is no store"), "\(page.body)")
        }
        try await cachectl.store([StoredEntry(url: "http://h/new")])
        #expect(try await browser.get("/entries").body.contains("http://h/new"))
    }

    @Test func `a store that was replaced is shown as it is now`() async throws {
        try await cachectl.store([StoredEntry(url: "http://h/old")])
        let browser = try await RunningInspector(shell: cachectl).enter()
        #expect(try await browser.get("/entries").body.contains("http://h/old"))
        for name in try FileManager.default.contentsOfDirectory(atPath: cachectl.temporary.directory.path) {
            try FileManager.default.removeItem(at: cachectl.temporary.directory.appending(path: name))
        }
        try await cachectl.store([StoredEntry(url: "http://h/new")])
        let page = try await browser.get("/entries").body
        #expect(page.contains("http://h/new") && !page.contains("http://h/old"))
    }

    @Test func `a sealed store shows only what is not sealed, and names its key`() async throws {
        let file = try cachectl.file("key", String(repeating: "5a", count: 32))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        var configuration = Engine.Configuration(store: cachectl.temporary.store)
        configuration.transport = StubTransport(body: "sealed body")
        configuration.seal = try AESGCMSeal(key: Data(repeating: 0x5A, count: 32), id: "2026")
        let engine = Engine(configuration)
        _ = try await engine.send(Request("http://h/sealed-path"))
        await engine.close()
        let key = try #require(try await keys().first)
        let locked = try await RunningInspector(shell: cachectl).enter()
        for path in ["/", "/entries", "/entries/\(key)"] {
            let page = try await locked.get(path)
            #expect(page.status == 200 && page.body.contains("is sealed with the key"), "\(path): \(page.head)")
            #expect(!page.body.contains("sealed-path") && !page.body.contains("sealed body"), "\(path)")
        }
        let options = ["--key-file", file, "--key-id", "2026"]
        let open = try await RunningInspector(options: options, shell: cachectl).enter()
        #expect(try await open.get("/entries/\(key)").body.contains("sealed body"))
    }
}
