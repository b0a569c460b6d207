#if Valkey
import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import NIOCore
import Testing

@testable import DiamondValkey

/// Engines over one server, as of several processes, that miss the same response at once.
@Suite(
    "Leases on Valkey", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"), .limit(minutes: 5)
) struct ValkeyLeaseTests {
    /// A server of responses that a test holds back.
    private final class Origin: Sendable {
        private let server: RawServer
        private let requests = Guarded(0)
        private let answered = Guarded(0)

        /// - Parameter header: a field of each response.
        init(_ header: String) throws {
            let (requests, answered) = (requests, answered)
            server = try RawServer { connection in
                while connection.readHead() != nil {
                    let number = requests.withLock { requests in
                        requests += 1
                        return requests
                    }
                    while answered.withLock({ $0 }) < number { Thread.sleep(forTimeInterval: 0.001) }
                    connection.write("HTTP/1.1 200 OK\r\n\(header)\r\nContent-Length: 1\r\n\r\n\(number)")
                }
            }
        }

        var count: Int { requests.withLock { $0 } }

        var request: Request { Request("\(server.base)/cities") }

        /// Answers the requests up to a number, when they come.
        func answer(_ number: Int = .max) { answered.withLock { $0 = number } }
    }

    /// The engine of one process. Its clock is slower than the machine's, which may be busy: a lookup may take half a second.
    private final class Process: Sendable {
        let engine: Engine
        private let clock = TestClock()
        private let ticker: Task<Void, any Error>

        init(_ server: ValkeyServer, memory: Int = 1 << 20) {
            let place = CachePlace.server("valkey") { () throws(CacheError) in
                do throws(ValkeyError) {
                    return try ValkeyStorage(ValkeyAddress(server.url), timing: .patient)
                } catch {
                    throw CacheError(.cannotOpen, error.message)
                }
            }
            var configuration = Engine.Configuration(store: nil, cache: place)
            configuration.memoryCapacity = memory
            configuration.clock = clock
            configuration.retry = .never
            engine = Engine(configuration)
            ticker = Task { [clock] in
                while true {
                    try await Task.sleep(for: .milliseconds(10))
                    clock.advance(by: .milliseconds(1))
                }
            }
        }

        deinit { ticker.cancel() }

        func send(_ request: Request) -> Task<Response, any Error> {
            Task { [engine] in try await engine.send(request) }
        }
    }

    /// Waits until some requests have arrived: by default before a lease would expire.
    private func expect(_ count: Int, at origin: Origin, within limit: Duration = .seconds(4)) async {
        let start = ContinuousClock.now
        await untilTrue { origin.count == count }
        #expect(ContinuousClock.now - start < limit)
    }

    /// Waits until a process has a lease, and returns its key.
    private func lease(on server: ValkeyServer, _ client: ValkeyClient) async throws -> String {
        while true {
            var cursor: String?
            repeat {
                let page = try await client.scan("diamond:{*}:lease:*", after: cursor)
                if let key = page.keys.first { return key }
                cursor = page.cursor
            } while cursor != nil
        }
    }

    @Test(arguments: [0, 1 << 20]) func `equal misses of two processes send one request`(memory: Int) async throws {
        let server = try await ValkeyServer()
        let origin = try Origin("Cache-Control: max-age=60")
        let processes = [Process(server, memory: memory), Process(server, memory: memory)]
        let misses = Guarded(0)
        let observations = processes.map { process in
            process.engine.activity.observe { event in
                if case .miss = event { misses.withLock { $0 += 1 } }
            }
        }
        let tasks = processes.flatMap { process in (0..<50).map { _ in process.send(origin.request) } }
        await untilTrue { misses.withLock { $0 } == 100 && origin.count > 0 }
        origin.answer()
        for task in tasks { #expect(try await task.value.text == "1") }
        #expect(origin.count == 1)
        withExtendedLifetime(observations) {}
        for process in processes { await process.engine.close() }
    }

    @Test func `a request whose sender is canceled is sent by the process that waits`() async throws {
        let server = try await ValkeyServer()
        let client = try ValkeyEvents().client(server.url)
        defer { client.close() }
        let origin = try Origin("Cache-Control: max-age=60")
        let (one, other) = (Process(server), Process(server))
        let first = one.send(origin.request)
        await untilTrue { origin.count == 1 }
        _ = try await lease(on: server, client)
        let (canceled, second) = (other.send(origin.request), other.send(origin.request))
        canceled.cancel()
        // A caller ends no wait but its own.
        await #expect(throws: ConnectionError.self) { try await canceled.value }
        #expect(origin.count == 1)
        first.cancel()
        await #expect(throws: ConnectionError.self) { try await first.value }
        await expect(2, at: origin)
        origin.answer()
        #expect(try await second.value.text == "2")
        for process in [one, other] { await process.engine.close() }
    }

    @Test func `a process that ends while it has a lease delays others until the lease expires`() async throws {
        let server = try await ValkeyServer()
        let client = try ValkeyEvents().client(server.url)
        defer { client.close() }
        let origin = try Origin("Cache-Control: max-age=60")
        let (one, other) = (Process(server), Process(server))
        let first = one.send(origin.request)
        let key = try await lease(on: server, client)
        await untilTrue { origin.count == 1 }
        let left = try await client.run([ValkeyCall(script: "return redis.call('PTTL', KEYS[1])", keys: [key])])
        #expect((1...5000).contains { left == [.integer($0)] })
        let second = other.send(origin.request)
        // As if its time were up: the first request has no answer yet.
        _ = try await client.run([ValkeyCall(script: "return redis.call('PEXPIRE', KEYS[1], 1)", keys: [key])])
        await expect(2, at: origin)
        origin.answer()
        #expect(try await first.value.source == .network)
        #expect(try await second.value.source == .network)
        for process in [one, other] { await process.engine.close() }
    }

    @Test(arguments: ["Cache-Control: no-store", "Cache-Control: no-cache", "Vary: *"])
    func `a request whose last response could not be served to others waits for none`(header: String) async throws {
        let server = try await ValkeyServer()
        let origin = try Origin(header)
        let processes = [Process(server), Process(server)]
        origin.answer(2)
        for process in processes { _ = try await process.send(origin.request).value }
        let tasks = processes.map { $0.send(origin.request) }
        // Neither has an answer before both are sent.
        await expect(4, at: origin)
        origin.answer()
        for task in tasks { _ = try await task.value }
        for process in processes { await process.engine.close() }
    }

    @Test func `a request with other header fields waits for none`() async throws {
        let server = try await ValkeyServer()
        let origin = try Origin("Cache-Control: max-age=60\r\nVary: User-Agent")
        let processes = [Process(server), Process(server)]
        let tasks = zip(processes, ["one", "other"]).map { process, name in
            var request = origin.request
            request.headers[.userAgent] = name
            return process.send(request)
        }
        await expect(2, at: origin)
        origin.answer()
        for task in tasks { _ = try await task.value }
        for process in processes { await process.engine.close() }
    }

    @Test func `a server that ends or stalls ends the waits`() async throws {
        for stalls in [false, true] {
            let server = try await ValkeyServer()
            let client = try ValkeyEvents().client(server.url)
            defer { client.close() }
            let origin = try Origin("Cache-Control: max-age=60")
            let (one, other) = (Process(server), Process(server))
            let first = one.send(origin.request)
            _ = try await lease(on: server, client)
            let second = other.send(origin.request)
            await untilTrue { origin.count == 1 }
            if stalls { await server.pause() } else { await server.end() }
            // By the processes' clocks, a wait for the lease would last 50 seconds.
            await expect(2, at: origin, within: .seconds(30))
            origin.answer()
            #expect(try await first.value.source == .network)
            #expect(try await second.value.source == .network)
            server.resume()
            for process in [one, other] { await process.engine.close() }
        }
    }
}

extension ValkeyCall {
    fileprivate init(script: String, keys: [String]) { self.init(script: script, keys: keys, arguments: []) }
}
#endif
