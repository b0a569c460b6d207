#if Postgres && Valkey && canImport(CDiamondPostgres)
import DiamondPostgres
import DiamondTestSupport
import DiamondTesting
import DiamondValkey
import Foundation
import Testing

@testable import Diamond

@Suite(
    "cachectl over servers", .enabled(if: Effort.hasFleet, "needs servers: scripts/fleet starts them"),
    .limit(minutes: 5)
)
struct ServerTests {
    let cachectl = Shell()
    private let queue: String
    private let cache: String

    init() throws {
        let environment = ProcessInfo.processInfo.environment
        let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
        queue = try #require(environment["DIAMOND_POSTGRES"]).replacing("/postgres?", with: "/\(name)?")
        cache = try #require(environment["DIAMOND_VALKEY"]) + "?prefix=\(name)"
    }

    /// Creates the database of the queue, which is empty.
    private func createDatabase() async throws {
        let variable = try #require(ProcessInfo.processInfo.environment["DIAMOND_POSTGRES"])
        let name = try #require(queue.firstMatch(of: /\/(t[0-9a-f]+)\?/)?.1)
        let pool = try PostgresPool(PostgresAddress(variable), name: "test", size: 1)
        defer { pool.close() }
        _ = try await pool.run { (connection) throws(PostgresError) in
            try connection.runText("CREATE DATABASE \(name)")
        }
    }

    /// Runs a command of the queue on the server.
    private func jobs(_ arguments: String..., input: String = "") async throws -> BuiltTool.Outcome {
        try await cachectl(["queue"] + arguments + ["--queue", queue], input: input)
    }

    // MARK: The queue

    @Test func `the commands of a queue act on a server, and none on a file`() async throws {
        try await createDatabase()
        let empty = try await jobs("list")
        #expect(empty.status == 0 && empty.errors == "nothing queued\n", "\(empty.errors)")
        let missing = try await jobs("show", "1")
        #expect(missing.status == 4 && missing.errors.contains("there is no queue at postgresql://"))
        for number in 1...3 {
            let added = try await jobs("add", "https://a.example/\(number)", "--key", "k\(number)", "-X", "PUT")
            #expect(added.text == "\(number)\n", "\(added.errors)")
        }
        #expect(try await jobs("list").text.contains("https://a.example/2"))
        #expect(
            try await jobs("hold", "--key", "k2").text == "held the ordering key 'k2', 1 job of it\n2 ready, 1 held\n")
        #expect(try await jobs("keys", "--blocked").text.contains("k2"))
        #expect(try await jobs("release", "--key", "k2").text.hasSuffix("3 ready\n"))
        #expect(try await jobs("discard", "1").text == "discarded 1 job\n2 ready, 1 done\n")
        #expect(try await jobs("discard", "1").status == 1)
        #expect(try await jobs("show", "2").text.contains("PUT https://a.example/2"))
        #expect(try await jobs("history").text.contains("ENQUEUE"))
        #expect(try await jobs("edit", "3", "-", input: #"{"url": "https://a.example/new"}"#).text == "3\n")
        let lines = try await jobs("export", "--state", "ready").text
        #expect(lines.split(separator: "\n").count == 2)
        #expect(try await jobs("import", "-", input: lines).text == "imported 2 jobs\n")
        #expect(try await jobs("replay", "--dry-run").text.contains("would send 2 jobs now"))
        let whole = try await jobs("hold", "--whole", "--reason", "a test")
        #expect(whole.text.hasPrefix("held the queue"))
        let plan = try await jobs("replay", "--dry-run").text
        #expect(plan.contains("'cachectl queue release --whole --queue='postgresql://"), "\(plan)")
        #expect(cachectl.files().isEmpty)
    }

    @Test func `jobs of a server are sent, and the command exits as with a file`() async throws {
        try await createDatabase()
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        _ = try await jobs("add", "\(server.base)/a", "-X", "POST")
        let sent = try await jobs("replay")
        #expect(sent.status == 0 && sent.text.hasSuffix("1 done\n1 done\n"), "\(sent.text)\(sent.errors)")
        let refusing = try RawServer(answering: "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        _ = try await jobs("add", "\(refusing.base)/b", "-X", "POST")
        #expect(try await jobs("replay").status == 1)
        #expect(try await jobs("redrive", "--state", "dead", "--yes").text == "redriven 1 job\n1 ready, 1 done\n")
        #expect(!cachectl.files().contains("replay.sqlite"))
    }

    @Test func `doctor and verify check the servers, and no file that is not named`() async throws {
        try await createDatabase()
        _ = try await jobs("add", "https://a.example/")
        let variables = ["DIAMOND_STORE": ""]
        var tool = cachectl.tool()
        tool.environment.merge(variables) { $1 }
        let checked = try await tool.run(["verify", "--queue", queue, "--cache", cache])
        #expect(checked.status == 0 && checked.text.contains("1 job of the queue: all sound"), "\(checked.errors)")
        #expect(checked.text.contains("0 entries, 0 B of bodies: all sound"), "\(checked.text)")
        let doctor = try await tool.run(["doctor", "--queue", queue])
        #expect(doctor.status == 0 && doctor.text.contains("senders   0\n") && doctor.text.hasSuffix("healthy\n"))
        #expect(!doctor.text.contains("store ") && doctor.text.contains("jobs      1 ready"), "\(doctor.text)")
        let form = try await tool.run(["doctor", "--queue", queue, "--cache", cache, "--json"])
        #expect(form.text.contains("\"senders\"") && form.text.contains("\"entries\""), "\(form.text)\(form.errors)")
    }

    @Test func `a server out of reach is an error that names it without a password`() async throws {
        let variables = [
            "DIAMOND_QUEUE": "postgresql://anna:s3cret@127.0.0.1:1/d", "DIAMOND_CACHE": "valkey://:s3cret@127.0.0.1:1",
        ]
        for arguments in [["queue", "list"], ["list"], ["doctor"]] {
            let outcome = try await cachectl(arguments, environment: variables)
            #expect(outcome.status == 4 && (outcome.errors + outcome.text).contains("127.0.0.1"), "\(outcome.errors)")
            #expect(!(outcome.errors + outcome.text).contains("s3cret"))
        }
    }

    @Test func `jobs move to a server and back, also if the move is killed`() async throws {
        try await createDatabase()
        let count = 600
        let requests = (0..<count).map { number in
            var request = Request("https://a.example/\(number)", method: .put)
            request.replay = ReplayPolicy(.durable, orderingKey: "k\(number % 5)")
            return request
        }
        try await cachectl.queue().enqueue(requests)
        let store = cachectl.temporary.directory.path
        let back = Shell()
        let target = try await PostgresReplayStorage(PostgresAddress(queue))
        var generator = SplitMix(state: Effort.seed)
        for (from, to) in [(store, queue), (queue, back.temporary.directory.path)] {
            for _ in 0..<Effort.rounds(3, soaking: 30) {
                let left = from == queue ? try target.counts()[.ready] ?? 0 : count - (try target.counts()[.ready] ?? 0)
                let goal = left > 0 ? Int.random(in: 0..<left, using: &generator) : 0
                _ = try await QueueMoveTests.move(from, to) {
                    let ready = try target.counts()[.ready] ?? 0
                    return (from == queue ? ready : count - ready) <= goal
                }
            }
            var outcome = try await cachectl("queue", "move", from, to, "--yes")
            // A program that was killed before it had its lock counts as alive until its lease ends.
            while outcome.errors.contains("a program sends or moves its jobs"), !Task.isCancelled {
                outcome = try await cachectl("queue", "move", from, to, "--yes")
            }
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        #expect(try target.holds().isEmpty && target.counts()[.ready] ?? 0 == 0)
        let paths = try back.queue().jobs(limit: count + 1).map { $0.url.dropFirst(18) }
        #expect(paths == (0..<count).map { "\($0)"[...] })
    }

    // MARK: The cache

    enum Kind: CaseIterable { case valkey, postgres }

    /// Stores three responses on a server.
    ///
    /// - Returns: its URL.
    private func fill(_ kind: Kind) async throws -> String {
        if kind == .postgres { try await createDatabase() }
        let place = try kind == .valkey ? CachePlace.valkey(cache) : .postgres(PostgresAddress(queue))
        let storage = try #require(place.open)
        let filled = try Cache(onServer: storage(), seal: nil)
        // A slow server takes a write later.
        while try filled.totals().entries < 3, !Task.isCancelled {
            for path in ["a", "b", "c"] {
                let entry = StoredEntry(url: "https://a.example/\(path)", tags: ["letters", path])
                filled.store(try entry.cacheEntry(storedAt: .now, filled.rules))
            }
            await filled.flush()
        }
        return kind == .valkey ? cache : queue
    }

    @Test(arguments: Kind.allCases) func `the commands of a cache act on a server, and none on a file`(
        kind: Kind
    ) async throws {
        let cache = try await fill(kind)
        let variables = ["DIAMOND_CACHE": cache]
        let list = try await cachectl("list", "--cache", cache)
        #expect(list.status == 0 && list.text.split(separator: "\n").count == 4, "\(list.errors)")
        let key = try #require(list.text.split(separator: "\n").last?.prefix(12))
        let shown = try await cachectl("show", String(key), environment: variables)
        #expect(shown.text.contains("https://a.example/") && shown.status == 0, "\(shown.errors)")
        let stats = try await cachectl("stats", environment: variables).text
        #expect(
            stats.contains("store    \(kind == .valkey ? "valkey" : "postgresql")://")
                && stats.contains("entries  3\n"), "\(stats)")
        let explained = try await cachectl("explain", "https://a.example/a", environment: variables)
        #expect(explained.text.contains("fresh for"), "\(explained.text)\(explained.errors)")
        #expect(try await cachectl("purge", "--tag", "b", "--dry-run", environment: variables).text.contains("1 entry"))
        #expect(try await cachectl("purge", "--tag", "b", environment: variables).text == "erased 1 entry\n")
        #expect(try await cachectl("invalidate", "--tag", "letters", environment: variables).status == 0)
        #expect(try await cachectl("list", environment: variables).text.contains("stale"))
        #expect(try await cachectl("evict", environment: variables).status == 64)
        let pinned = try await cachectl("pin", String(key), environment: variables)
        let evicted = try await cachectl("evict", "--to", "1", environment: variables)
        switch kind {
        case .valkey:
            #expect(pinned.status == 1 && pinned.errors.contains("keeps no pins"), "\(pinned.errors)")
            #expect(evicted.status == 4 && evicted.errors.contains("evicts by its own rules: set its limit there"))
        case .postgres:
            #expect(pinned.status == 0 && evicted.text.hasPrefix("evicted 1 entry"), "\(evicted.text)\(evicted.errors)")
        }
        let checked = try await cachectl("verify", "--cache", cache, environment: ["DIAMOND_STORE": ""])
        #expect(checked.text.contains("all sound"), "\(checked.text)\(checked.errors)")
        #expect(cachectl.files().isEmpty)
    }

    @Test func `a response is stored on a server, and found there by the next process`() async throws {
        let server = try RawServer(
            answering:
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        let first = try await cachectl("send", server.base, "--cache", cache)
        #expect(first.text == "hi" && first.errors.contains("from network"), "\(first.errors)")
        try await storeResponse(of: server, ["DIAMOND_CACHE": cache])
    }

    /// Sends a request until its response is stored: not at once, if the cache's server takes more than 50
    /// milliseconds.
    private func storeResponse(of server: RawServer, _ variables: [String: String]) async throws {
        repeat {
            try Task.checkCancellation()
            _ = try await cachectl("send", server.base, environment: variables)
        } while try await !cachectl("list", environment: variables).text.contains(server.base)
    }

    @Test func `a sealed cache on a server needs its key`() async throws {
        let server = try RawServer(
            answering:
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        let variables = ["DIAMOND_CACHE": cache, "DIAMOND_CACHE_KEY": String(repeating: "0f", count: 32)]
        try await storeResponse(of: server, variables)
        let locked = try await cachectl("list", "--cache", cache)
        #expect(locked.status == 5 && locked.text.contains("•••") && !locked.text.contains(server.base))
        let purged = try await cachectl("purge", "--host", "127.0.0.1", "--cache", cache)
        #expect(purged.status == 5 && purged.errors.contains("the store is sealed with the key"), "\(purged.errors)")
    }
}
#endif
