import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondSQLite

@Suite("A copy of replay.sqlite alone", .limit(minutes: 5)) struct QueueCopyTests {
    let cachectl = Shell()

    /// Returns the number of jobs in a copy, by their states.
    private func counts() throws -> [ReplayState: Int] {
        let copy = TemporaryStore()
        try FileManager.default.createDirectory(at: copy.directory, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: cachectl.temporary.store.replayPath, toPath: copy.store.replayPath)
        return try ReplayQueue(existing: copy.store).counts().filter { $0.value > 0 }
    }

    private func add() async throws {
        let added = try await cachectl("queue", "add", "https://a.example/", "-X", "POST")
        #expect(added.status == 0, "\(added.errors)")
    }

    @Test func `contains the jobs that commands have added, changed and sent`() async throws {
        for _ in 0..<3 { try await add() }
        #expect(try counts() == [.ready: 3])
        _ = try await cachectl("queue", "hold", "2")
        #expect(try counts() == [.ready: 2, .held: 1])
        _ = try await cachectl("queue", "discard", "1")
        #expect(try counts() == [.ready: 1, .held: 1, .done: 1])
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        _ = try await cachectl("queue", "add", server.base, "-X", "POST", "--priority", "9", "--key", "k")
        _ = try await cachectl("queue", "hold", "3")
        _ = try await cachectl("queue", "replay")
        #expect(try counts() == [.held: 2, .done: 2])
        #expect(try await cachectl("doctor").text.contains("\njobs      2 held, 2 done\nhealthy\n"))
    }

    @Test func `contains the jobs that an engine has added, after the engine is closed or deallocated`() async throws {
        var engine: Engine? = Engine(Engine.Configuration(store: cachectl.temporary.store))
        var request = Request("http://127.0.0.1:1/", method: .post, body: .json(1))
        request.replay = .durable
        try await engine?.queue().enqueue(request)
        await engine?.close()
        #expect(try counts() == [.ready: 1])
        // A closed engine still stores jobs.
        try await engine?.queue().enqueue(request)
        engine = nil
        await untilTrue { (try? counts()) == [.ready: 2] }
    }

    @Test func `contains the jobs of several programs after the last of them has closed the queue`() async throws {
        let queue = try cachectl.queue()
        try await add()
        try await queue.enqueue(Request("https://a.example/", method: .put))
        try await add()
        let reading = try SQLiteReading(cachectl.temporary.store)
        await queue.close()
        reading.end()
        try await add()
        #expect(try counts() == [.ready: 4])
    }

    @Test func `may lack jobs while the queue is in use, and doctor recommends queue export`() async throws {
        let queue = try cachectl.queue()
        try await queue.enqueue(Request("https://a.example/", method: .put))
        let text = try await cachectl("doctor").text
        let line = "pages, which a copy of replay.sqlite may lack: copy jobs with 'cachectl queue export'\n"
        #expect(text.contains(line), "\(text)")
        #expect(text.hasSuffix("\nhealthy\n"))
        await queue.close()
        #expect(!(try await cachectl("doctor").text.contains("queue export")))
    }
}

/// A reader whose transaction keeps older pages of the log from being overwritten.
private final class SQLiteReading {
    private let handle: SQLiteHandle

    init(_ store: Store) throws {
        handle = try SQLiteHandle(path: store.replayPath, flags: 1, vfs: nil)
        try handle.execute("BEGIN; SELECT count(*) FROM job")
    }

    func end() { try? handle.execute("COMMIT") }
}
