import DiamondInspection
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

#if Tools
@testable import cachectl
#endif

@Suite("cachectl watch", .limit(minutes: 5)) struct WatchTests {
    private let cachectl = Shell()

    private func engine(status: Int = 200) -> Engine {
        cachectl.temporary.engine(StubTransport(status: status, headers: [.cacheControl: "max-age=60"])) {
            $0.recordsEvents = true
        }
    }

    private func start(_ options: [String], output: Pipe, errors: Pipe) throws -> ChildProcess {
        let tool = cachectl.tool()
        return try ChildProcess(
            tool.url, ["watch"] + options,
            environment: ProcessInfo.processInfo.environment.merging(tool.environment) { $1 },
            output: .pipe(output), errors: .pipe(errors))
    }

    /// Returns the lines that the command prints first, up to a number.
    private func lines(_ count: Int, _ options: [String]) async throws -> [String] {
        let (output, errors) = (Pipe(), Pipe())
        let watch = try start(options + ["--last", "100"], output: output, errors: errors)
        var lines: [String] = []
        for _ in 0..<count { lines.append(await output.firstLine()) }
        watch.kill(SIGINT)
        #expect(await watch.ended() == .killed(by: SIGINT))
        return lines
    }

    @Test func `prints the events of another program as they come, until Ctrl-C`() async throws {
        let (output, errors) = (Pipe(), Pipe())
        let watch = try start(["--where", "kind=ended", "--where", "interval=request"], output: output, errors: errors)
        #expect(await errors.firstLine().contains("recordsEvents = true"))
        let engine = engine()
        for path in ["a", "b"] { _ = try await engine.send(Request("http://h/\(path)?token=s3cret")) }
        await engine.close()
        let form =
            #/2026-01-01T00:00:00\.000Z \S+\[\d+\] ended request GET 200 network [\d.]+ m?s http://h/a\?token=•••/#
        let line = await output.firstLine()
        #expect(line.wholeMatch(of: form) != nil, "\(line)")
        #expect(await output.firstLine().hasSuffix("http://h/b?token=•••"))
        watch.kill(SIGINT)
        #expect(await watch.ended() == .killed(by: SIGINT))
    }

    @Test func `ends when its reader closes the pipe`() async throws {
        let (output, errors) = (Pipe(), Pipe())
        let watch = try start([], output: output, errors: errors)
        _ = await errors.firstLine()
        try output.fileHandleForReading.close()
        let file = EventFile(cachectl.temporary.store)
        file.receive(.stored)
        await file.flush()
        #expect([.exited(128 + SIGPIPE), .killed(by: SIGPIPE)].contains(await watch.ended()))
    }

    @Test func `prints JSON with --json, one object per line`() async throws {
        let engine = engine()
        _ = try await engine.send(Request("http://h/cities"))
        await engine.close()
        let line = try #require(try await lines(1, ["--json", "--where", "kind=miss"]).first)
        let event = try #require(RecordedEvent(line: line.utf8))
        #expect(event.kind == .miss && event.url == "http://h/cities")
    }

    #if Tools
    private static let events = [
        #"{"kind":"ended","milliseconds":12.5,"process":7,"status":200,"tags":["cities"],"time":1,"url":"/a=b"}"#,
        #"{"kind":"ended","milliseconds":99,"process":7,"status":503,"time":2,"url":"/b"}"#,
        #"{"kind":"stored","process":7,"time":3}"#,
    ].compactMap { RecordedEvent(line: $0.utf8) }

    /// Conditions, and the times of the events that meet them.
    private static let conditions: [([String], [Int64])] = [
        ([], [1, 2, 3]), (["kind=ended"], [1, 2]), (["kind=ended", "status=503"], [2]), (["url~/b"], [2]),
        (["status>200"], [2]), (["status<300"], [1]), (["milliseconds>12.5"], [2]), (["milliseconds=12.50"], [1]),
        (["tags=cities"], [1]), (["tags~it"], [1]), (["time>0"], [1, 2, 3]), (["key="], []),
        (["source=cache"], []), (["url=/a=b"], [1]), (["kind>1"], []), (["status>=503"], [2]),
        (["status<=200"], [1]), (["milliseconds>=12.5"], [1, 2]), (["status~0"], [1, 2]),
    ]

    @Test(arguments: conditions) func `prints the events that meet all conditions`(
        texts: [String], times: [Int64]
    ) throws {
        let conditions = try texts.map { try EventCondition(argument: $0) }
        let met = Self.events.filter { event in conditions.allSatisfy { $0.holds(for: event) } }
        #expect(met.map(\.time.rawValue) == times)
    }
    #endif

    @Test(arguments: [
        ("nothing=1", "'nothing' is no field: use one of time, process,"), ("status", "write FIELD=VALUE"),
        ("status>x", "write a number after >"),
        ("status>=x", "write a number after >="), ("=1", "'' is no field"),
    ]) func `refuses a condition that no event can meet`(condition: String, message: String) async throws {
        let outcome = try await cachectl("watch", "--where", condition)
        #expect(outcome.status == 64 && outcome.errors.contains(message), "\(outcome.errors)")
    }

    @Test func `escapes control characters of a hostile URL`() async throws {
        try write([#"{"kind":"miss","process":7,"program":"a\nb","time":1,"url":"http://h/\u001b[31m\u202e\u009b"}"#])
        for options in [[], ["--json"]] {
            let line = try #require(try await lines(1, options).first)
            #expect(line.contains("http://h/") && line.lowercased().contains("202e"))
            #expect(line.unicodeScalars.allSatisfy { ![0x1B, 0x202E, 0x9B].contains($0.value) })
        }
    }

    private func write(_ lines: [String]) throws {
        try cachectl.temporary.store.create()
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: cachectl.temporary.store.eventPath))
    }
}
