import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl send --repeat", .limit(minutes: 5)) struct RepetitionTests {
    let cachectl = Shell()

    private func form(_ outcome: BuiltTool.Outcome) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
    }

    @Test func `prints counts, latencies and a histogram, and no body`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: "hello") }
        let sent = try await cachectl("send", origin.base, "--repeat", "20", "--concurrency", "4")
        #expect(sent.status == 0 && sent.errors.isEmpty && origin.requests.count <= 20, "\(sent.errors)")
        let lines = sent.text.split(separator: "\n").map(String.init)
        #expect(lines[0].wholeMatch(of: /requests    20 in [\d.]+ m?s, [\d.]+ per second/) != nil, "\(sent.text)")
        #expect(lines[1] == "answers     20 from network", "\(sent.text)")
        #expect(lines[3] == "statuses    20 with status 200", "\(sent.text)")
        #expect(lines[2] == "attempts    \(origin.requests.count) on the wire", "\(sent.text)")
        let time = /[\d.]+ m?s/
        #expect(lines[4].matches(of: time).count == 6 && lines[4].hasPrefix("latency     min "), "\(sent.text)")
        #expect(lines[5].hasPrefix("RESPONSES  SHARE") && lines[5].hasSuffix("LATENCY"))
        let counts = lines.dropFirst(6).compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
        #expect(counts.reduce(0, +) == 20 && !sent.text.contains("hello"), "\(sent.text)")
    }

    @Test func `counts the answers from the cache, and those of the network`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", "Cache-Control: max-age=60") }
        let first = try form(await cachectl("send", origin.base, "--repeat", "10", "--json"))
        #expect(first["sources"] as? [String: Int] == ["network": 1, "cache": 9] && origin.requests.count == 1)
        #expect(first["attempts"] as? Int == 1 && first["requests"] as? Int == 10)
        let reload = try form(
            await cachectl("send", origin.base, "--repeat", "3", "--json", "--policy", "reload"))
        #expect(reload["sources"] as? [String: Int] == ["network": 3] && origin.requests.count == 4)
        let figures = try #require(reload["milliseconds"] as? [String: Double])
        #expect(figures.keys.sorted() == ["max", "mean", "min", "p50", "p90", "p99"])
        let histogram = try #require(reload["histogram"] as? [[String: Any]])
        #expect(histogram.compactMap { $0["responses"] as? Int }.reduce(0, +) == 3)
        let offline = try await cachectl("send", origin.base, "--repeat", "2", "--json", "--offline")
        #expect(try form(offline)["attempts"] as? Int == 0 && offline.status == 0 && origin.requests.count == 4)
    }

    @Test func `runs a sequence with its own captured values each time, and counts what is wrong`() async throws {
        let origin = try ScriptedOrigin { request in
            let isFirst = request.target == "/first"
            return ScriptedOrigin.response(
                !isFirst && request.number % 4 == 0 ? "404 Not Found" : "200 OK",
                body: isFirst ? #"{"id": \#(request.number)}"# : #"{"path": "\#(request.target)"}"#)
        }
        let text = """
            [{"url": "\(origin.base)/first", "method": "POST", "capture": {"id": "/id"}},
             {"url": "\(origin.base)/${id}", "method": "POST",
              "assert": ["/path == /${id}", "status == 200", "header:X-None exists"]}]
            """
        let file = try cachectl.file("requests.json", text)
        let sent = try await cachectl("send", file, "--repeat", "6", "--json")
        let result = try form(sent)
        #expect(sent.status == 7 && result["requests"] as? Int == 12 && origin.requests.count == 12)
        #expect(result["statuses"] as? [String: Int] == ["200": 9, "404": 3], "\(sent.text)")
        let problems = try #require(result["problems"] as? [String: Int])
        #expect(
            problems == [
                "assertion 'status == 200' failed": 3, "assertion 'header:X-None exists' failed": 6,
            ])
    }

    @Test func `counts errors by their kinds, and exits with 3`() async throws {
        let text = #"{"url": "http://127.0.0.1:1/", "retry": {"attempts": 1}}"#
        let sent = try await cachectl("send", "-", "--repeat", "3", "--json", input: text)
        let result = try form(sent)
        #expect(sent.status == 3 && result["errors"] as? [String: Int] == ["cannotConnect": 3], "\(sent.text)")
        #expect(result["milliseconds"] == nil && result["interrupted"] as? Bool == false)
    }

    @Test func `has no more requests on the wire than --concurrency allows, and as many`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let onWire = Guarded((count: 0, most: 0))
        let origin = try ScriptedOrigin { request in
            onWire.withLock { $0 = ($0.count + 1, max($0.most, $0.count + 1)) }
            // The eighth request shows that eight are on the wire: more than an engine allows by default.
            if request.number == 8 { for _ in 0..<8 { gate.signal() } }
            if request.number <= 8 { gate.wait() }
            onWire.withLock { $0.count -= 1 }
            return ScriptedOrigin.response()
        }
        let sent = try await cachectl(
            "send", origin.base, "-X", "POST", "--repeat", "16", "--concurrency", "8", "--json")
        #expect(try form(sent)["attempts"] as? Int == 16 && sent.status == 0, "\(sent.text)\(sent.errors)")
        #expect(onWire.withLock { $0.most } == 8)
    }

    @Test(arguments: [SIGINT, SIGTERM]) func `ends at a signal with the summary of what was measured`(
        signal: Int32
    ) async throws {
        let reached = DispatchSemaphore(value: 0)
        let hold = DispatchSemaphore(value: 0)
        let origin = try ScriptedOrigin { request in
            if request.number == 5 {
                reached.signal()
                hold.wait()
            }
            return ScriptedOrigin.response()
        }
        let output = Pipe()
        let process = try ChildProcess(
            BuiltTool("cachectl").url,
            [
                "send", origin.base, "-X", "POST", "--repeat", "1000000", "--json", "--store",
                cachectl.temporary.directory.path,
            ],
            output: .pipe(output), errors: .null)
        async let text = output.readAll()
        await wait(for: reached)
        process.kill(signal)
        #expect(await process.ended() == .exited(3))
        let data = await text
        let result = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(result["requests"] as? Int == 4 && result["interrupted"] as? Bool == true, "\(result)")
        hold.signal()
    }

    /// Waiting blocks: not on a thread of any pool.
    private func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    @Test func `does not wait for refreshes when it is interrupted`() async throws {
        let reached = DispatchSemaphore(value: 0)
        let hold = DispatchSemaphore(value: 0)
        let origin = try ScriptedOrigin { request in
            // The refresh of the stale response.
            if request.number == 2 {
                reached.signal()
                hold.wait()
            }
            return ScriptedOrigin.response("200 OK", "Cache-Control: max-age=0", "ETag: \"1\"")
        }
        let output = Pipe()
        let process = try ChildProcess(
            BuiltTool("cachectl").url,
            [
                "send", origin.base, "--policy", "staleWhileRevalidate", "--repeat", "1000000", "--json", "--store",
                cachectl.temporary.directory.path,
            ],
            output: .pipe(output), errors: .null)
        async let text = output.readAll()
        await wait(for: reached)
        process.kill(SIGINT)
        // The refresh is still held.
        #expect(await process.ended() == .exited(3))
        let data = await text
        let result = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(result["interrupted"] as? Bool == true && result["attempts"] as? Int == 2, "\(result)")
        hold.signal()
    }

    @Test(arguments: [
        ["--concurrency", "2"], ["--repeat", "0"], ["--repeat", "1000001"], ["--repeat", "2", "--concurrency", "1001"],
        ["--repeat", "2", "--raw"], ["--offline", "--policy", "reload"], ["--offline", "--replay", "durable"],
        ["--replay", "never"], ["--replay", "later"],
    ]) func `refuses options that exclude each other, and numbers out of range`(options: [String]) async throws {
        let sent = try await cachectl(["send", "http://127.0.0.1:1/"] + options)
        #expect(sent.status == 64 && sent.text.isEmpty, "\(sent.errors)")
    }

    @Test func `ends with 141 if its output is closed`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let output = Pipe()
        let process = try ChildProcess(
            BuiltTool("cachectl").url,
            ["send", origin.base, "--repeat", "2", "--store", cachectl.temporary.directory.path],
            output: .pipe(output), errors: .null)
        try output.fileHandleForReading.close()
        #expect(await process.ended() == .exited(128 + SIGPIPE))
    }

    @Test func `--offline answers from the cache, also stale, and sends nothing`() async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", "Cache-Control: max-age=0", "ETag: \"1\"", body: "hello")
        }
        #expect(try await cachectl("send", origin.base).status == 0)
        let stale = try await cachectl("send", origin.base, "--offline")
        #expect(stale.status == 0 && stale.text == "hello" && stale.errors.contains("from cache, stale"))
        let nothing = try await cachectl("send", origin.base + "/other", "--offline")
        #expect(nothing.status == 1 && nothing.errors.hasPrefix("504, nothing stored"), "\(nothing.errors)")
        let text = #"{"url": "\#(origin.base)/x", "method": "POST", "replay": {"mode": "durable"}}"#
        #expect(try await cachectl("send", "-", "--offline", input: text).status == 1)
        #expect(origin.requests.count == 1 && !cachectl.files().contains("replay.sqlite"))
        let queue = try RawServer { $0.shutOutput() }
        let server = queue.base.replacing("http://", with: "postgresql://anna@") + "/d"
        let apart = try await cachectl("send", origin.base, "--offline", "--queue", server)
        #expect(apart.status == 0 && !apart.errors.contains("queue"), "\(apart.errors)")
    }

    @Test func `--replay queues a request that cannot be sent`() async throws {
        let text = #"{"url": "http://127.0.0.1:1/", "method": "PUT", "retry": {"attempts": 1}}"#
        let sent = try await cachectl("send", "-", "--replay", "durable", input: text)
        #expect(sent.status == 6 && sent.errors.contains("job 1"), "\(sent.errors)")
        #expect(try await cachectl("send", "-", input: text).status == 3)
        #expect(try await cachectl("send", "-", "--replay", "onFailure", input: text).errors.contains("job 2"))
    }
}
