import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection
@testable import cachectl

@Suite("cachectl serve: the timeline and the templates", .limit(minutes: 5)) struct InspectorTimelineTests {
    let cachectl = Shell()

    private static let start: Int64 = 1_800_000_000_000

    private func line(_ offset: Int64, _ members: String) -> String {
        #"{"time":\#(Self.start + offset),"process":1,"program":"app",\#(members)}"#
    }

    /// A request that waits for 20 ms and is 30 ms on the wire, one from the cache, and the end of an unknown one.
    private var lines: [String] {
        let request = #""method":"GET","url":"http://h/a?<b>","lane":"default""#
        return [
            line(0, #""kind":"began","interval":"request","id":1,\#(request)"#),
            line(0, #""kind":"began","interval":"queue","id":2,"parent":1"#),
            line(20, #""kind":"ended","interval":"queue","id":2,"parent":1,"milliseconds":20"#),
            line(20, #""kind":"began","interval":"attempt","id":3,"parent":1,"attempt":1"#),
            line(50, #""kind":"ended","interval":"attempt","id":3,"parent":1,"milliseconds":30,"status":200"#),
            line(51, #""kind":"ended","interval":"request","id":1,"milliseconds":51,"status":200,"source":"network""#),
            line(60, #""kind":"hit","source":"cache",\#(request)"#),
            line(61, #""kind":"ended","interval":"request","id":9,"milliseconds":1,"status":200"#),
        ]
    }

    @Test func `waits, wire and cache are apart`() throws {
        let exchanges = TimelineReading(lines.compactMap { RecordedEvent(line: $0.utf8) }).newestFirst
        try #require(exchanges.map(\.kind) == ["hit", "request"])
        #expect(exchanges[1].sum(.wait) == 20 && exchanges[1].sum(.wire) == 30)
        #expect(exchanges[1].milliseconds == 51 && exchanges[1].source == "network")
        #expect(exchanges[0].parts.isEmpty && exchanges[0].url == "http://h/a?<b>")
    }

    @Test func `the timeline says how a program opts in, and shows what it records`() async throws {
        let browser = try await RunningInspector(shell: cachectl).enter()
        #expect(try await browser.get("/timeline").body.contains("configuration.recordsEvents = true"))
        try cachectl.temporary.store.create()
        try Data((lines.joined(separator: "\n") + "\n").utf8)
            .write(to: URL(filePath: cachectl.temporary.store.eventPath))
        let page = try await browser.get("/timeline").body
        #expect(page.contains("http://h/a?&lt;b&gt;") && page.contains("200 network"), "\(page)")
        #expect(page.contains(#"<a href="/entries?url=http%3A%2F%2Fh%2Fa%3F%3Cb%3E">"#))
        #expect(page.contains(#"<rect class="wait" x="0""#) && page.contains(#"<rect class="wire""#))
        #expect(try await browser.get("/timeline?kind=failed").body.contains("No requests."))
        #expect(try await browser.get("/").body.contains("latency, 50 % of 1 requests"))
    }

    @Test func `each event counts once, whenever it is written`() async throws {
        try cachectl.temporary.store.create()
        let path = cachectl.temporary.store.eventPath
        let feed = EventFeed(cachectl.temporary.store)
        for count in [4, lines.count, lines.count] {
            try Data((lines.prefix(count).joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
            #expect(await feed.latest().count == count)
        }
    }

    @Test func `a line with an impossible duration ends no page`() async throws {
        try cachectl.temporary.store.create()
        let ends = ["1e300", "-1e300"].enumerated().map { number, milliseconds in
            let name = #""interval":"request","id":\#(number)"#
            return line(0, #""kind":"began",\#(name),"url":"http://h/""#) + "\n"
                + line(1, #""kind":"ended",\#(name),"milliseconds":\#(milliseconds),"status":200"#) + "\n"
        }
        let far =
            #"{"time":-9223372036854775808,"process":1,"program":"app","kind":"began","interval":"request","id":9}"#
        try Data((ends.joined() + far + "\n").utf8).write(to: URL(filePath: cachectl.temporary.store.eventPath))
        let browser = try await RunningInspector(shell: cachectl).enter()
        for path in ["/timeline", "/", "/timeline"] { #expect(try await browser.get(path).status == 200) }
    }

    @Test(arguments: [StoredResponse.Flags.noCache, .invalidated])
    func `a response that has to be validated is never served stale`(flag: StoredResponse.Flags) {
        let headers = "Cache-Control: max-age=60, stale-while-revalidate=60, stale-if-error=60\n"
        func timers(_ flags: StoredResponse.Flags) -> [NamedValue] {
            let stored = StoredResponse(
                status: 200, headerBlock: Data(headers.utf8), body: Data(), storedAt: WallTime(rawValue: 0),
                initialAge: 0,
                lifetime: 60_000, flags: flags)
            return EntryTimers(of: stored, targets: [], at: WallTime(rawValue: 1000)).timers
        }
        #expect(timers([]).count { $0.name.contains("may be served stale") } == 2)
        #expect(!timers(flag).contains { $0.name.contains("may be served stale") })
        #expect(timers(flag).contains { $0.name == "served stale" && $0.value.contains("has to be validated") })
    }

    @Test func `every template is well formed, and escapes all values`() {
        let templates = Assets.files.keys.filter { $0.hasSuffix(".mustache") }
        #expect(templates.count > 5)
        for file in templates {
            let name = String(file.dropLast(".mustache".count))
            let value: [String: [String: String]] = ["layout": [:], "page": ["holds": "a"]]
            #expect(!Templates.render(name, value).isEmpty, "\(name)")
            #expect(!Assets.text(file).contains("{{{") && !Assets.text(file).contains("{{&"), "\(name)")
            #expect(Assets.text(file).firstMatch(of: #/<pre(?![^>]* role=)[^>]* aria-label=/#) == nil, "\(name)")
            #expect(Assets.text(file).firstMatch(of: #/ style=|<style|<script>|\son[a-z]+=/#) == nil, "\(name)")
        }
    }
}
