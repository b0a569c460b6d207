import Diamond
import Foundation
import HTTPTypes
import Synchronization

extension Benchmark {
    static let memoryHits = [
        Benchmark(
            name: "memory-hit",
            method: "requests a second of processor time that one engine answers from memory, the request's key known",
            unit: "hits/s",
            target: .atLeast(300_000),
            measure: { try await Scratch.with { try await MemoryHits.rate(in: $0) } }
        ),
        Benchmark(
            name: "events-off",
            method: "processor time of a request that an engine answers from memory, in the program of events-on",
            unit: "us",
            target: .atMost(4),
            measure: { try await Scratch.with { try await MemoryHits.time(in: $0, recordsEvents: false) } }
        ),
        Benchmark(
            name: "events-on",
            method: "processor time of the same if the engine records its events, the writing included",
            unit: "us",
            target: .atMost(40),
            measure: { try await Scratch.with { try await MemoryHits.time(in: $0, recordsEvents: true) } }
        ),
        Benchmark(
            name: "memory-hit-after-pause",
            method: "processor time of a lookup in memory that polls for the changes of other processes",
            unit: "us",
            target: .atMost(50),
            measure: { try await Scratch.with { try await MemoryHits.timeAfterPause(in: $0) } }
        ),
        Benchmark(
            name: "memory-hit-threads",
            method: """
                requests a second that one engine answers from memory to two parallel tasks, to those to one task, each in \
                its fastest round, because other work of the machine only slows it down
                """,
            unit: "x one task",
            target: .atLeast(1.5),
            measuring: { try await Scratch.with { try await MemoryHits.gain(in: $0) } }
        ),
    ]
}

private enum MemoryHits {
    static func rate(in directory: URL) async throws -> Double {
        try await with(directory) { engine, requests in
            let count = 200_000
            var rates: [Double] = []
            for _ in 0..<7 {
                let effort = try await Effort.of { try await hit(requests, engine, count) }
                rates.append(Double(count) / effort.processor)
            }
            return rates.median
        }
    }

    /// Returns the microseconds of a hit.
    static func time(in directory: URL, recordsEvents: Bool) async throws -> Double {
        try await with(directory, recordsEvents: recordsEvents) { engine, requests in
            let count = 50_000
            var times: [Double] = []
            for _ in 0..<7 {
                let effort = try await Effort.of { try await hit(requests, engine, count) }
                times.append(effort.processor / Double(count) * 1e6)
            }
            return times.median
        }
    }

    static func gain(in directory: URL) async throws -> Benchmark.Measurement {
        try await with(directory) { engine, requests in
            var (one, two) = (Rates(width: 1), Rates(width: 2))
            for round in 0..<15 {
                // The order alternates.
                for isOne in [round % 2 == 0, round % 2 == 1] {
                    if isOne {
                        try await one.measure(requests, engine)
                    } else {
                        try await two.measure(requests, engine)
                    }
                }
            }
            return Benchmark.Measurement(value: two.fastest / one.fastest, notes: [one.note, two.note])
        }
    }

    /// The time of a lookup at whose time a poll is due.
    static func timeAfterPause(in directory: URL) async throws -> Double {
        let clock = Clock()
        let cache = try Cache(Store(directory: directory), timing: CacheTiming(uptime: { clock.next() }))
        let entry = Entries.make(0)
        cache.store(entry)
        await cache.flush()
        let count = 20_000
        let effort = try await Effort.of {
            for _ in 0..<count {
                guard cache.findInMemory(entry.key, request: entry.request) != nil else { throw Failure("no hit") }
            }
        }
        return effort.processor / Double(count) * 1e6
    }

    /// A clock of which a second passes with each reading.
    private final class Clock: Sendable {
        private let uptime = Atomic<Int64>(0)

        func next() -> Uptime { Uptime(rawValue: uptime.add(1_000, ordering: .relaxed).newValue) }
    }

    /// An engine with the responses of all requests in memory.
    private static func with<Result>(
        _ directory: URL,
        recordsEvents: Bool = false,
        _ body: (Engine, [Request]) async throws -> Result
    ) async throws -> Result {
        var configuration = Engine.Configuration(store: Store(directory: directory))
        configuration.transport = CannedTransport()
        configuration.recordsEvents = recordsEvents
        let engine = Engine(configuration)
        let requests = (0..<64).map { Request("https://api.example.com/v1/cities?country=DE&page=\($0)&perPage=50") }
        for request in requests { _ = try await engine.send(request) }
        await engine.cache?.flush()
        let result = try await body(engine, requests)
        await engine.close()
        return result
    }

    /// - Parameter start: the number of the first request. The first one follows the last.
    fileprivate static func hit(
        _ requests: [Request],
        _ engine: Engine,
        _ count: Int,
        from start: Int = 0
    ) async throws {
        for number in start..<start + count {
            let response = try await engine.send(requests[number % requests.count])
            guard response.source == .cache, response.body.count == 1024 else { throw Failure("no hit") }
        }
    }
}

/// The figures of a number of parallel tasks, by round.
private struct Rates {
    private static let count = 50_000

    let width: Int
    /// Hits a second of elapsed time.
    private var rates: [Double] = []
    /// Microseconds of processor time of a hit.
    private var times: [Double] = []

    init(width: Int) { self.width = width }

    mutating func measure(_ requests: [Request], _ engine: Engine) async throws {
        let effort = try await Effort.of { [width] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<width {
                    let start = task * requests.count / width
                    group.addTask { try await MemoryHits.hit(requests, engine, Self.count, from: start) }
                }
                try await group.waitForAll()
            }
        }
        let hits = Double(width * Self.count)
        rates.append(hits / effort.wall)
        times.append(effort.processor / hits * 1e6)
    }

    var fastest: Double { rates.max() ?? 0 }

    var note: String {
        String(
            format: "%d at a time: fastest %.0f hits/s, median %.0f; %.2f µs of processor time each",
            width, fastest, rates.median, times.median)
    }
}

/// A transport that answers each request like an API, without a network.
struct CannedTransport: Transport {
    // Created once, so that its creation is not measured.
    private static let headers: HTTPFields = [
        .server: "nginx", .date: "Tue, 07 Jan 2025 08:00:00 GMT", .contentType: "application/json",
        .contentLength: "1024", .cacheControl: "max-age=315360000", .eTag: "\"5f2-1024\"",
    ]
    private static let body = Data(repeating: UInt8(ascii: "x"), count: 1024)

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        TransportResponse(status: .ok, headers: Self.headers, body: BodyStream(Self.body))
    }

    func close() async {}
}
