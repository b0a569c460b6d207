import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A process was stopped in the middle of a transaction, and holds the write lock.
@Suite("A store with a stopped writer", .limit(minutes: 5)) struct StoppedWriterTests {
    let cachectl = Shell()

    /// Starts a process that opens a file and stops in the middle of a transaction.
    private func stopped(_ path: String) async throws -> ChildProcess {
        let process = try ChildProcess(BuiltTool("StoreHammer").url, ["stop", path])
        await untilTrue { process.isStopped }
        return process
    }

    private static func server() throws -> RawServer {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
        return try RawServer(answering: head + "ok\n")
    }

    @Test func `serves stored responses without waiting for the writer`() async throws {
        let server = try Self.server()
        #expect(try await cachectl("send", server.base).text == "ok\n")
        let writer = try await stopped(cachectl.temporary.store.cachePath)
        let start = ContinuousClock.now
        let hit = try await cachectl("send", server.base)
        // Waiting for the write lock would take 30 seconds.
        #expect(ContinuousClock.now - start < .seconds(15))
        #expect(hit.status == 0 && hit.text == "ok\n" && hit.errors.contains("from cache"), "\(hit.errors)")
        #expect(try await cachectl("list").text.contains(server.base))
        writer.kill(SIGCONT)
        #expect(await writer.ended() == .exited(0))
    }

    @Test func `delivers a new response at once, and stores it when the writer continues`() async throws {
        let server = try Self.server()
        _ = try await cachectl("send", server.base + "/a")
        let writer = try await stopped(cachectl.temporary.store.cachePath)
        let output = Pipe()
        let sending = try ChildProcess(
            BuiltTool("cachectl").url, ["send", server.base + "/b", "--store", cachectl.temporary.directory.path],
            output: .pipe(output), errors: .null)
        #expect(await output.firstLine() == "ok")
        #expect(writer.isStopped)
        writer.kill(SIGCONT)
        #expect(await writer.ended() == .exited(0))
        #expect(await sending.ended() == .exited(0))
        #expect(try await cachectl("send", server.base + "/b").errors.contains("from cache"))
    }

    @Test func `does not delay the message about a failed request`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/")])
        let writer = try await stopped(cachectl.temporary.store.cachePath)
        let errors = Pipe()
        let sending = try ChildProcess(
            BuiltTool("cachectl").url, ["send", "http://127.0.0.1:1/", "--store", cachectl.temporary.directory.path],
            output: .null, errors: .pipe(errors))
        #expect(await errors.firstLine().hasPrefix("cachectl: "))
        #expect(writer.isStopped)
        writer.kill(SIGCONT)
        #expect(await writer.ended() == .exited(0))
        #expect(await sending.ended() == .exited(3))
    }

    @Test(arguments: ["cache.sqlite", "replay.sqlite"])
    func `is reported by doctor, which names the stopped process and the remedy`(name: String) async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/")])
        _ = try await cachectl("queue", "add", "https://a.example/")
        let path = cachectl.temporary.directory.appending(path: name).path
        let writer = try await stopped(path)
        let outcome = try await cachectl("doctor")
        let complaints = outcome.text.split(separator: "\n").filter { $0.hasPrefix("! ") }
        #expect(outcome.status == 1 && complaints.count == 1, "\(outcome.text)")
        let number = "\(writer.number)"
        #expect(complaints.first?.contains("process \(number)") == true)
        #expect(complaints.first?.contains("holds the write lock of \(path)") == true)
        #expect(complaints.first?.contains("'kill -CONT \(number)'") == true)
        writer.kill(SIGCONT)
        #expect(await writer.ended() == .exited(0))
        #expect(try await cachectl("doctor").text.hasSuffix("\nhealthy\n"))
    }

    @Test func `lists its jobs`() async throws {
        _ = try await cachectl("queue", "add", "https://a.example/", "--key", "k")
        let writer = try await stopped(cachectl.temporary.store.replayPath)
        #expect(try await cachectl("queue", "list").text.contains("https://a.example/"))
        #expect(writer.isStopped)
        writer.kill()
        #expect(await writer.ended() == .killed(by: SIGKILL))
    }
}
