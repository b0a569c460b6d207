import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import cachectl

@Suite("cachectl serve: who may do what", .limit(minutes: 5)) struct InspectorAccessTests {
    /// The pages, with the key of an entry in place of the variable.
    static func paths(_ routes: [Route], key: String) -> [String] {
        routes.map { $0.path.replacing(#/\{[^}]*\}/#, with: key) }
    }

    static let pages = Route.all.filter { $0.method == .get }
    static let actions = Route.all.filter { $0.method != .get }

    /// A key of no entry.
    private let key = String(repeating: "0", count: 64)

    @Test func `the token works once, and leads to the page without it`() async throws {
        let inspector = try await RunningInspector()
        let host = "Host: \(inspector.address)"
        #expect(try await inspector.send("GET /?token=0123", [host]).status == 401)
        let first = try await inspector.send("GET /?token=\(inspector.token)", [host])
        #expect(first.status == 303 && first.values("Location") == ["/"])
        let cookie = try #require(first.values("Set-Cookie").first)
        let port = inspector.address.split(separator: ":")[1]
        let form = #/cachectl-(\d+)=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=//#
        #expect(cookie.wholeMatch(of: form)?.1 == port, "\(cookie)")
        #expect(!cookie.contains(inspector.token))
        let second = try await inspector.send("GET /?token=\(inspector.token)", [host])
        #expect(second.status == 401 && second.values("Set-Cookie").isEmpty)
    }

    @Test func `no page answers without the cookie`() async throws {
        let inspector = try await RunningInspector()
        let host = "Host: \(inspector.address)"
        let port = inspector.address.split(separator: ":")[1]
        for path in Self.paths(Route.all, key: key) {
            #expect(try await inspector.send("GET \(path)", [host]).status == 401)
            let wrong = "Cookie: cachectl-\(port)=\(inspector.token)"
            let answer = try await inspector.send("GET \(path)", [host, wrong])
            #expect(answer.status == 401 && !answer.body.contains("diamond-"), "\(path)")
        }
        #expect(try await inspector.send("GET /assets/inspector.css", [host]).status == 200)
    }

    @Test(arguments: ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:PORT", ""])
    func `another host is refused, also with the token and the cookie`(name: String) async throws {
        let inspector = try await RunningInspector()
        let port = inspector.address.split(separator: ":")[1]
        let host = "Host: \(name.replacing("PORT", with: port))"
        #expect(try await inspector.send("GET /?token=\(inspector.token)", [host]).status != 303)
        let browser = try await inspector.enter()
        let answer = try await inspector.send("GET /", [host, browser.fields[1]])
        #expect([400, 421].contains(answer.status), "\(answer.head)")
        #expect(try await inspector.send("GET /", ["Host: localhost:\(port)", browser.fields[1]]).status == 200)
    }

    @Test(arguments: [
        ["Origin: https://evil.example"], ["Origin: https://evil.example", "Sec-Fetch-Site: same-origin"],
        ["Origin: null"], ["Origin: null", "Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"],
        ["Sec-Fetch-Site: none"], [],
    ]) func `an action that another page sends is refused`(fields: [String]) async throws {
        let browser = try await RunningInspector("--write").enter()
        let path = "/entries/\(key)/purge"
        let answer = try await browser.inspector.send("POST \(path)", browser.fields + fields, body: "confirmed=yes")
        #expect(answer.status == 403 && answer.body.contains("from another page"), "\(answer.head)")
        #expect(try await browser.post(path, "confirmed=yes").status == 404)
        let own = browser.fields + ["Origin: http://\(browser.inspector.address)"]
        #expect(try await browser.inspector.send("POST \(path)", own, body: "confirmed=yes").status == 404)
    }

    @Test func `every action is refused without --write, and changes nothing`() async throws {
        let cachectl = Shell()
        try await cachectl.store([StoredEntry(url: "http://h/kept")])
        let before = try await cachectl("list", "--json").text
        let key = try #require(before.firstMatch(of: #/[0-9a-f]{64}/#)).output
        let browser = try await RunningInspector(shell: cachectl).enter()
        #expect(!Self.actions.isEmpty)
        for path in Self.paths(Self.actions, key: String(key)) + ["/unknown"] {
            let answer = try await browser.post(path, "confirmed=yes&request=%7B%7D")
            #expect(answer.status == 403 && answer.body.contains("read-only"), "\(path): \(answer.head)")
        }
        #expect(try await cachectl("show", String(key)).text.contains("fresh"))
        #expect(try await cachectl("list", "--json").text.contains("\"pinned\" : false"))
    }

    @Test func `no page has an action, because a page needs no permission`() {
        for route in Self.pages { #expect(!["/invalidate", "/pin"].contains { route.path.hasSuffix($0) }) }
        #expect(Set(Route.all.map { "\($0.method.rawValue) \($0.path)" }).count == Route.all.count)
    }

    @Test func `every response has the fields that keep it private`() async throws {
        let browser = try await RunningInspector().enter()
        var answers = [try await browser.inspector.send("GET /", ["Host: evil.example"])]
        for path in Self.paths(Self.pages.filter { !$0.path.hasSuffix("/live") }, key: key) + ["/none"] {
            answers.append(try await browser.get(path))
        }
        answers.append(try await browser.post("/entries/\(key)/pin"))
        for answer in answers {
            let policy = try #require(answer.values("Content-Security-Policy").first)
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
            #expect(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"))
            #expect(answer.values("X-Content-Type-Options") == ["nosniff"])
            #expect(answer.values("Referrer-Policy") == ["no-referrer"])
            #expect(answer.values("Cache-Control") == ["no-store"])
        }
    }

    @Test func `listens only on the loopback interface, and says if the port is taken`() async throws {
        let inspector = try await RunningInspector()
        let port = String(inspector.address.split(separator: ":")[1])
        let outcome = try await Shell()("serve", "--port", port)
        #expect(outcome.status == 64 && outcome.text.isEmpty)
        let reason = "address already in use: give another --port"
        #expect(outcome.errors == "cachectl: cannot listen on 127.0.0.1:\(port): \(reason)\n")
    }

    @Test(arguments: [SIGINT, SIGTERM]) func `ends at a signal, with an open stream`(signal: Int32) async throws {
        let browser = try await RunningInspector().enter()
        let client = try browser.inspector.client("GET /overview/live", browser.fields)
        let head = await client.read(through: "event: ")
        #expect(head.contains("text/event-stream"), "\(head)")
        #expect(await browser.inspector.ended(after: signal) == .exited(0))
    }
}
