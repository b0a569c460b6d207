import CPeers
import Diamond
import Foundation
import HTTPTypes

extension Benchmark {
    static let operations = [
        chain(10_000, atMost: 0.15),
        chain(100_000, atMost: 1),
        Benchmark(
            name: "chain-2k-queue",
            method: "time of a chain of 2,000 connections in Foundation's OperationQueue, to the same in an engine",
            unit: "x engine",
            target: .atLeast(10),
            measure: { try await Chains.ratioOfQueue(2000) }
        ),
        Benchmark(
            name: "operation-cpu",
            method: "processor time of a connection through an engine, without I/O or a cache; least of 9 rounds",
            unit: "us",
            target: .atMost(12),
            measuring: { try await Chains.processorOfOne() }
        ),
        Benchmark(
            name: "queued-memory",
            method: "memory of a connection that waits for a permit, among 100,000",
            unit: "bytes",
            target: .atMost(8192),
            measure: { try await Waiting.memoryOfOne(100_000) }
        ),
        Benchmark(
            name: "unstarted-memory",
            method: "memory of a connection that waits for a dependency, among 100,000",
            unit: "bytes",
            target: .atMost(1024),
            measure: { try await Waiting.memoryOfUnstarted(100_000) }
        ),
        Benchmark(
            name: "cancel-growth",
            method: "time of starting 1,000,000 connections in a paused lane and canceling them, to ten times 100,000",
            unit: "x",
            target: .atMost(1.5),
            isLong: true,
            measuring: { try await Waiting.growth() }
        ),
    ]

    private static func chain(_ count: Int, atMost seconds: Double) -> Benchmark {
        Benchmark(
            name: "chain-\(count / 1000)k",
            method: "time to create, run and release a chain of \(count) connections; least of 9 rounds",
            unit: "s",
            target: .atMost(seconds),
            measuring: { try await Chains.time(count) }
        )
    }
}

private enum Chains {
    static let engine: Engine = {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = CannedTransport()
        return Engine(configuration)
    }()

    static func time(_ count: Int) async throws -> Benchmark.Measurement {
        try await least { try await Effort.of { try await run(count) { engine.start($0) } }.wall }
    }

    // Without a peer, other work of the machine counts. The least of several rounds has the least of it.
    private static func least(_ measure: () async throws -> Double) async throws -> Benchmark.Measurement {
        var times: [Double] = []
        for _ in 0..<9 { times.append(try await measure()) }
        let note = String(format: "median %.3g, most %.3g", times.median, times.max() ?? .nan)
        return Benchmark.Measurement(value: times.min() ?? .nan, notes: [note])
    }

    static func ratioOfQueue(_ count: Int) async throws -> Double {
        let queue = try await Effort.of { [queue = OperationQueue()] in try await run(count) { queue.addOperation($0) }
        }
        let ours = try await Effort.of { try await run(count) { engine.start($0) } }
        return queue.wall / ours.wall
    }

    private static func run(_ count: Int, _ enqueue: (Connection) -> Void) async throws {
        let request = Request("http://h/", cache: .noStore)
        var connections: [Connection] = []
        for _ in 0..<count {
            let connection = engine.connection(for: request)
            if let last = connections.last { connection.addDependency(last) }
            connections.append(connection)
        }
        for connection in connections { enqueue(connection) }
        guard try await connections[count - 1].response.status == .ok else { throw Failure("no answer") }
    }

    static func processorOfOne() async throws -> Benchmark.Measurement {
        let count = 20_000
        let request = Request("http://h/", cache: .noStore)
        return try await least {
            let effort = try await Effort.of {
                let connections = (0..<count).map { _ in engine.start(request) }
                for connection in connections { _ = try await connection.response }
            }
            return effort.processor / Double(count) * 1e6
        }
    }
}

private enum Waiting {
    private static func engine() -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = CannedTransport()
        let engine = Engine(configuration)
        engine.lanes.pauseAll()
        return engine
    }

    static func memoryOfOne(_ count: Int) async throws -> Double {
        let engine = engine()
        let before = try resident()
        let connections = (0..<count).map { engine.start(Request("http://h\($0 % 100)/\($0)", cache: .noStore)) }
        while engine.lanes.waiting < count { await Task.yield() }
        let after = try resident()
        engine.lanes.resumeAll()
        for connection in connections { _ = try await connection.response }
        return Double(after - before) / Double(count)
    }

    static func memoryOfUnstarted(_ count: Int) async throws -> Double {
        let engine = engine()
        engine.lanes.resumeAll()
        let first = engine.connection(for: Request("http://h/", cache: .noStore))
        let before = try resident()
        let connections = (0..<count).map { number in
            let connection = engine.connection(for: Request("http://h\(number % 100)/\(number)", cache: .noStore))
            connection.addDependency(first)
            engine.start(connection)
            return connection
        }
        let after = try resident()
        engine.start(first)
        for connection in connections { _ = try await connection.response }
        return Double(after - before) / Double(count)
    }

    private static func resident() throws -> Int {
        give_back()
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        guard pages.count > 1, let count = Int(pages[1]) else { throw Failure("no /proc/self/statm") }
        return count * Int(getpagesize())
    }

    /// The processor time of the whole process.
    private static func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let found = status.firstMatch(of: /VmHWM:\s*(\d+) kB/), let count = Int(found.1) else {
            throw Failure("no VmHWM in /proc/self/status")
        }
        return count * 1024
    }

    static func growth() async throws -> Benchmark.Measurement {
        let few = await cancel(100_000)
        let many = await cancel(1_000_000)
        let times = String(format: "100,000: %.2f s, 1,000,000: %.2f s", few, many)
        let memory = "memory at the most: \(try peak() / 1_000_000) MB"
        return Benchmark.Measurement(value: many / few / 10, notes: [times, memory])
    }

    private static func cancel(_ count: Int) async -> Double {
        await Effort.of {
            let engine = engine()
            let connections = (0..<count).map { engine.start(Request("http://h/\($0)", cache: .noStore)) }
            while engine.lanes.waiting < count { await Task.yield() }
            for connection in connections { connection.cancel() }
            for connection in connections { while !connection.isFinished { await Task.yield() } }
        }.wall
    }
}
