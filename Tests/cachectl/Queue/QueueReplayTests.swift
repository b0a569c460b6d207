import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl queue replay", .limit(minutes: 5)) struct QueueReplayTests {
    let cachectl = Shell()
    // RawServer closes each connection, and says so. Otherwise a job that reused a closing connection would be retried.
    private static let acceptance = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    private func add(_ base: String, _ options: String...) async throws {
        let added = try await cachectl(["queue", "add", "-X", "POST", "--json-body", "[1]", base + "/notes"] + options)
        #expect(added.status == 0, "\(added.errors)")
    }

    @Test func `sends the jobs that can be sent now, in order, and prints their outcomes`() async throws {
        let server = try RawServer(answering: Self.acceptance)
        for _ in 0..<2 { try await add(server.base, "--key", "k") }
        try await add(server.base, "--after", "1h")
        let outcome = try await cachectl("queue", "replay")
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(
            outcome.text == """
                job 1: finish, running to done (finished)
                job 2: finish, running to done (finished)
                2 done
                1 waiting, 2 done

                """)
        #expect(try await cachectl("queue", "replay", "--once").text == "nothing to send now\n1 waiting, 2 done\n")
    }

    @Test func `puts the id of a created object into the requests that wait for it`() async throws {
        let created = "HTTP/1.1 201 Created\r\nLocation: /notes/7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try RawServer(answering: created)
        let localID = "local:96001A3D-0000-4000-8000-000000000001"
        var creation = Request("\(server.base)/notes", method: .post, body: .json([:]))
        creation.replay = ReplayPolicy(.durable, metadata: ["localID": .string(localID)])
        creation.replay.creates = ReplayCreation(localID, paths: [["id"]])
        var remark = Request("\(server.base)/notes/\(localID)/remarks", method: .post)
        remark.body = .json(["note": .string(localID)])
        remark.replay = .durable
        remark.replay.awaits = remark.localIDs
        let queue = try cachectl.queue()
        try await queue.enqueue([creation, remark])
        #expect(try await cachectl("queue", "list").text.contains("awaitingID of 1"))
        let shown = try await cachectl("queue", "show", "2").text
        #expect(shown.contains("waits for   job 1: POST \(server.base)/notes, ready (enqueued)\n"), "\(shown)")
        let outcome = try await cachectl("queue", "replay")
        #expect(outcome.status == 0 && outcome.text.hasSuffix("2 done\n2 done\n"), "\(outcome.text)")
        #expect(try queue.job(2)?.url == "\(server.base)/notes/7/remarks")
        #expect(try queue.request(of: 2)?.body == .json(["note": 7]) && queue.job(1)?.metadata["id"] == 7)
    }

    @Test func `exits with 1 if a job is dead, and with 0 if it is tried again`() async throws {
        let refusing = try RawServer(answering: "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        try await add(refusing.base)
        let dead = try await cachectl("queue", "replay")
        #expect(dead.status == 1 && dead.text.hasSuffix("\n1 dead\n1 dead\n"), "\(dead.text)")
        #expect(dead.errors.contains("cachectl queue list --state dead"))
        try await add("http://127.0.0.1:1")
        let form = try #require(try await cachectl.object("queue", "replay"))
        #expect(form["postponed"] as? Int == 1 && (form["counts"] as? [String: Int])?["dead"] == 1, "\(form)")
    }

    @Test func `counts expired jobs as dead, and exits with 1`() async throws {
        try await add("http://127.0.0.1:1", "--expiry", "1d")
        try cachectl.rewriteQueue("UPDATE job SET expires_at = 1")
        let late = try await cachectl("queue", "replay")
        #expect(late.status == 1 && late.text.hasSuffix("\n1 dead\n1 dead\n"), "\(late.text)")
    }

    @Test(arguments: [["--limit", "1"], ["--width", "2", "--dry-run"], ["--limit", "0", "--dry-run"]])
    func `refuses options that would have no effect`(options: [String]) async throws {
        try await add("http://127.0.0.1:1")
        #expect(try await cachectl(["queue", "replay"] + options).status == 64)
        #expect(try cachectl.queue().job(1)?.attempts == 0)
    }

    @Test func `sends only the jobs of the given identities`() async throws {
        let server = try RawServer(answering: Self.acceptance)
        for name in ["me", "other"] { try await add(server.base, "--identity", name) }
        #expect(try await cachectl("queue", "replay", "--identity", "me").text.hasSuffix("1 done\n1 ready, 1 done\n"))
        #expect(try cachectl.queue().jobs(ReplayFilter(states: [.ready])).map(\.identity) == ["other"])
    }

    @Test func `takes a secret from the environment, and does not print it`() async throws {
        let server = try RawServer(answering: Self.acceptance)
        let text = #"{"url": "\#(server.base)/", "credentials": [{"prefix": "Bearer ", "secret": "api-token"}]}"#
        _ = try await cachectl("queue", "add", "-", input: text)
        #expect(try await cachectl("queue", "replay").text.hasSuffix("1 postponed\n1 waiting\n"))
        _ = try await cachectl("queue", "retry", "1")
        // An empty variable counts as missing.
        let empty = try await cachectl("queue", "replay", environment: ["API_TOKEN": ""])
        #expect(empty.status == 0 && empty.text.hasSuffix("1 postponed\n1 waiting\n"), "\(empty.text)")
        _ = try await cachectl("queue", "retry", "1")
        let sent = try await cachectl("queue", "replay", environment: ["API_TOKEN": "s3cret"])
        #expect(sent.status == 0 && sent.text.hasSuffix("1 done\n1 done\n"), "\(sent.text)\(sent.errors)")
        #expect(!(sent.text + sent.errors).contains("s3cret"))
    }

    @Test func `finishes running requests when its output is closed, and ends as SIGPIPE does`() async throws {
        let (first, second) = (DispatchGroup(), DispatchGroup())
        for gate in [first, second] { gate.enter() }
        let server = try RawServer { connection in
            guard let head = connection.readHead() else { return }
            (head.hasPrefix("POST /first/") ? first : second).wait()
            connection.write(Self.acceptance)
        }
        for path in ["/first", "/second"] { try await add(server.base + path) }
        let output = Pipe()
        let replay = try ChildProcess(
            BuiltTool("cachectl").url, ["queue", "replay", "--store", cachectl.temporary.directory.path],
            output: .pipe(output), errors: .null)
        try output.fileHandleForReading.close()
        let queue = try cachectl.queue()
        first.leave()
        // The line about the end of job 1 goes to a closed pipe.
        _ = try await queue.end(of: 1)
        second.leave()
        #expect(await replay.ended() == .exited(128 + SIGPIPE))
        #expect(try queue.counts()[.done] == 2)
    }

    /// The signals that end cachectl. If the tests run under nohup, they and cachectl ignore SIGHUP.
    private static let signals: [Int32] = {
        let before = signal(SIGHUP, SIG_DFL)
        defer { signal(SIGHUP, before) }
        return [SIGINT, SIGTERM] + (unsafeBitCast(before, to: Int.self) == 1 ? [] : [SIGHUP])
    }()

    @Test(arguments: signals) func `continues with --watch until a signal ends it`(signal: Int32) async throws {
        let server = try RawServer(answering: Self.acceptance)
        try await add(server.base)
        let output = Pipe()
        let replay = try ChildProcess(
            BuiltTool("cachectl").url,
            ["queue", "replay", "--watch", "--store", cachectl.temporary.directory.path],
            output: .pipe(output))
        #expect(await output.firstLine() == "job 1: finish, running to done (finished)")
        try await add(server.base)
        let second = await output.firstLine()
        #expect(second == "job 2: finish, running to done (finished)")
        replay.kill(signal)
        #expect(await output.firstLine() == "2 done")
        #expect(await replay.ended() == .exited(0))
    }

    @Test func `prints the outcomes of jobs as JSON with --json, one object per line`() async throws {
        let server = try RawServer(answering: Self.acceptance)
        try await add(server.base)
        let output = Pipe()
        let replay = try ChildProcess(
            BuiltTool("cachectl").url,
            ["queue", "replay", "--watch", "--json", "--store", cachectl.temporary.directory.path],
            output: .pipe(output))
        let line = await output.firstLine()
        #expect(line.contains(#""from":"running","job":1,"reason":"finished","to":"done""#), "\(line)")
        replay.kill(SIGINT)
        #expect(await output.firstLine().contains(#""finished":1"#))
        #expect(await replay.ended() == .exited(0))
    }
}
