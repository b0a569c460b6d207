import DiamondInspection
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

#if Tools
@testable import cachectl
#endif

@Suite("cachectl top", .limit(minutes: 5)) struct TopTests {
    private let cachectl = Shell()

    /// Writes events of the present, by this process unless they name another.
    private func write(_ events: [String]) throws {
        try cachectl.temporary.store.create()
        let lines = events.map { members in
            let process = members.contains("process") ? "" : #""process":\#(getpid()),"#
            return #"{\#(process)"program":"shop","time":\#(WallTime.now.rawValue),\#(members)}"# + "\n"
        }
        try Data(lines.joined().utf8).write(to: URL(filePath: cachectl.temporary.store.eventPath))
    }

    private func end(_ url: String, _ milliseconds: Int, _ members: String) -> String {
        #""kind":"ended","interval":"request","url":"\#(url)","milliseconds":\#(milliseconds),\#(members)"#
    }

    private func begin(_ id: Int, _ members: String = "") -> String {
        #""kind":"began","interval":"attempt","id":\#(id),"url":"http://b/"\#(members)"#
    }

    /// Four requests to `a`, of which one is a hit and one was confirmed, and one with an error to `b`.
    private func fill() throws {
        try write([
            // Attempts before it may have ended unseen.
            #""kind":"dropped","count":9"#,
            #""kind":"miss","url":"http://a/1""#, end("http://a/1", 10, #""status":200,"source":"network""#),
            #""kind":"hit","url":"http://a/1","source":"cache""#,
            #""kind":"hit","url":"http://a/1","source":"revalidated""#,
            end("http://a/1", 20, #""status":200,"source":"revalidated""#),
            end("http://a/1", 40, #""status":503,"source":"network""#),
            end("http://b/", 1500, #""error":"timedOut""#),
            // Without a server: served stale, and not sent.
            #""kind":"hit","url":"http://a/1","source":"stale""#,
            end("http://a/1", 9000, #""status":200,"source":"stale""#),
            end("http://b/", 9000, #""error":"noCredential""#),
            end("http://b/", 9000, #""status":504,"source":"generated""#),
            // Canceled.
            #""kind":"ended","interval":"request","url":"http://b/","milliseconds":5"#,
            // On the wire; ended; and of a process that was killed.
            begin(1), begin(2), #""kind":"ended","interval":"attempt","id":2,"url":"http://b/""#,
            begin(1, #","process":2147483647"#),
        ])
    }

    @Test func `prints the figures of the last minute with --once`() async throws {
        try fill()
        var request = Request("http://127.0.0.1:9/", method: .post)
        request.replay = ReplayPolicy(.durable)
        _ = try await cachectl.queue().enqueue(request, after: .seconds(3600))
        let shown = try await cachectl("top", "--once")
        #expect(shown.status == 0 && shown.errors.isEmpty)
        #expect(
            shown.text == """
                last 60 s, 2 programs, 9 events not recorded
                queue: 1 waiting

                HOST  REQUESTS  PER S    HITS    P50    P99  FAILED  IN FLIGHT
                all          8    0.1  75.0 %  20 ms  1.5 s       4          1
                a            5    0.1  75.0 %  20 ms  40 ms       1          0
                b            3    0.1       -  1.5 s  1.5 s       3          1

                """)
    }

    @Test func `prints an object with --json, of the last seconds`() async throws {
        try fill()
        let top = try #require(try await cachectl.object("top", "--seconds", "50"))
        #expect(top["seconds"] as? Int == 50 && top["requests"] as? Int == 8 && top["perSecond"] as? Double == 0.16)
        #expect(top["hits"] as? Int == 3 && top["misses"] as? Int == 1 && top["failed"] as? Int == 4)
        #expect(top["p50"] as? Double == 20 && top["p99"] as? Double == 1500 && top["inFlight"] as? Int == 1)
        let hosts = try #require(top["hosts"] as? [[String: Any]])
        #expect(hosts.map { $0["host"] as? String } == ["a", "b"] && hosts.map { $0["requests"] as? Int } == [5, 3])
    }

    @Test func `counts the requests of another program, and no older ones`() async throws {
        let clock = ManualClock()
        clock.advance(by: Date().timeIntervalSince(clock.now) - 3600)
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        let engine = cachectl.temporary.engine(transport, clock: clock) { $0.recordsEvents = true }
        _ = try await engine.send(Request("http://old/"))
        clock.advance(by: 3600)
        for _ in 0..<2 { _ = try await engine.send(Request("http://new/")) }
        await engine.close()
        let top = try #require(try await cachectl.object("top"))
        #expect(top["requests"] as? Int == 2 && top["hits"] as? Int == 1 && top["misses"] as? Int == 1)
        #expect((top["hosts"] as? [[String: Any]])?.map { $0["host"] as? String } == ["new"])
    }

    @Test func `says what to do if no program records events`() async throws {
        try cachectl.temporary.store.create()
        let shown = try await cachectl("top")
        #expect(shown.status == 0 && shown.text.hasPrefix("last 60 s, 0 programs\nqueue: none\n"))
        #expect(shown.errors.contains("set recordsEvents = true in its Engine.Configuration"))
    }

    // MARK: The window

    #if Tools
    private static let now = WallTime(rawValue: 1_767_225_600_000)

    private func event(_ members: String, process: Int = 7, at time: WallTime = now) throws -> RecordedEvent {
        try #require(RecordedEvent(line: #"{"process":\#(process),"time":\#(time.rawValue),\#(members)}"#.utf8))
    }

    @Test(arguments: [1, 60, 86_400]) func `keeps figures of its window instead of events`(seconds: Int) throws {
        var window = EventWindow(seconds: seconds)
        let step = Int64(seconds) * 2
        for number in 0..<5000 {
            let time = Self.now + Int64(number) * step
            let members = end("http://h/", 10 + number, #""status":200,"source":"network""#)
            window.add([try event(members, at: time), try event(#""kind":"stored""#, at: time)], at: time)
        }
        let figures = window.figures { _ in true }
        #expect(window.slots.count == Int(EventWindow.slotCount) + 1 && figures.all.count == window.slots.count)
        #expect(figures.all.latencies.counts.count <= 90 && figures.hosts["h"]?.count == figures.all.count)
        #expect(figures.all.latencies.percentile(100) == .milliseconds(5000))
    }

    @Test func `counts an event of the future now, and removes it in time`() throws {
        var window = EventWindow(seconds: 60)
        let hit = #""kind":"hit","url":"http://h/","source":"cache""#
        window.add([try event(hit, at: Self.now + 1_000_000)], at: Self.now)
        #expect(window.figures { _ in true }.all.count == 1)
        window.add([], at: Self.now + 61_000)
        #expect(window.figures { _ in true }.all.count == 0 && window.slots.isEmpty)
    }

    @Test func `has no attempts of a process that has ended, or that could not record all ends`() throws {
        var window = EventWindow(seconds: 60)
        let events = try [7, 8, 9].map { try event(begin(1), process: $0) }
        window.add(events + [try event(#""kind":"dropped","count":1"#, process: 8)], at: Self.now)
        #expect(window.figures { _ in true }.hosts["b"]?.inFlight == 2)
        #expect(window.figures { $0 != 9 }.all.inFlight == 1)
        // Another process has the number of one that has ended.
        #expect(window.figures { _ in true }.all.inFlight == 1)
        window.add([try event(#""kind":"ended","interval":"attempt","id":1"#)], at: Self.now)
        #expect(window.figures { _ in true }.all.inFlight == 0)
    }

    @Test func `rounds latencies to two digits, and counts all of them`() {
        var latencies = LatencyCounts()
        #expect(latencies.percentile(50) == nil)
        for microseconds in 1...100_000 { latencies.add(.microseconds(microseconds)) }
        #expect(latencies.counts.count <= 5 * 90)
        #expect(latencies.percentile(50) == .milliseconds(50) && latencies.percentile(99) == .milliseconds(99))
        #expect(latencies.percentile(0) == .microseconds(1) && latencies.percentile(100) == .milliseconds(100))
    }
    #endif

    // MARK: The screen

    @Test(arguments: [SIGINT, SIGTERM, SIGQUIT])
    func `is drawn for the size of the terminal, and restores it at the end`(
        signal: Int32
    ) async throws {
        let host = String(repeating: "long", count: 20)
        try write((0..<40).map { #""kind":"hit","source":"cache","url":"http://\#(host)\#($0 + 10)/""# })
        let shown = try await cachectl.tool().runOnTerminal(["top"], columns: 200) { process, terminal in
            await untilTrue { terminal.text.contains(host) && terminal.text.hasSuffix("\u{1B}[J") }
            terminal.resize(columns: 40, rows: 8)
            await untilTrue { terminal.text.contains("…") && terminal.text.hasSuffix("\u{1B}[J") }
            process.kill(signal)
        }
        #expect(shown.ending == .exited(0))
        #expect(shown.text.hasPrefix("\u{1B}[?1049h\u{1B}[?25l") && shown.text.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
        let screens = shown.text.split(separator: "\u{1B}[H").dropFirst().map { screen in
            screen.split(separator: "\u{1B}[J").first?.split(separator: "\u{1B}[K").map { $0.drop { $0 == "\n" } } ?? []
        }
        #expect(screens.first?.count == 24 && screens.first?.contains { $0.count > 40 } == true)
        #expect(screens.last?.count == 8 && screens.last?.allSatisfy { $0.count <= 40 } == true)
    }

    @Test func `restores the terminal also if the second Ctrl-C ends it, and while Ctrl-Z stops it`() async throws {
        try fill()
        let (begin, end) = ("\u{1B}[?1049h\u{1B}[?25l", "\u{1B}[?25h\u{1B}[?1049l")
        let shown = try await cachectl.tool().runOnTerminal(["top"], columns: 80) { process, terminal in
            for stops in 1...2 {
                await untilTrue { terminal.text.hasSuffix("\u{1B}[J") }
                process.kill(SIGTSTP)
                await untilTrue { process.isStopped }
                await untilTrue { terminal.text.hasSuffix(end) }
                process.kill(SIGCONT)
                await untilTrue { terminal.text.split(separator: begin).count == stops + 1 }
            }
            for _ in 0..<2 { process.kill(SIGINT) }
        }
        #expect([.exited(0), .killed(by: SIGINT)].contains(shown.ending))
        #expect(shown.text.hasPrefix(begin) && shown.text.hasSuffix(end))
    }

    @Test(arguments: [["--seconds", "0"], ["--seconds", "86401"], ["--seconds", "x"]])
    func `refuses a length of time that it cannot show`(options: [String]) async throws {
        #expect(try await cachectl(["top"] + options).status == 64)
    }
}
