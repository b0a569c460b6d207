#if Valkey
import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import NIOCore
import NIOPosix
import HTTPTypes
import Testing

@testable import DiamondValkey

/// Engines over a server that fails: what they answer is right, and a fault is at most a miss.
@Suite(
    "Engines over a failing Valkey server", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"),
    .limit(minutes: 5, soaking: 60)) struct ValkeyEngineFaultTests
{
    /// A fault of the server, in the middle of the requests of a round.
    enum Fault: CaseIterable {
        /// The server is gone, and comes back empty.
        case restart
        /// The server is gone, and another with an earlier state takes its place, as after a failover.
        case failover
        case silence
        /// The server refuses writes.
        case fullMemory
        /// Some keys are lost, so that entries are in parts.
        case lostKeys
        /// Some values are those of other keys.
        case mixedValues
    }

    private static let urls = (0..<24).map { "http://api.test/\($0)" }

    /// The bodies of the URLs: from a few bytes to several chunks.
    private static let bodies = Dictionary(
        uniqueKeysWithValues: urls.enumerated().map { number, url in
            // 251 is prime: no two chunks are equal.
            let block = Data((0..<251).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) })
            let count = [1, 4, 560, 1_200][number % 4]
            return (url, (0..<count).reduce(into: Data("\(url) ".utf8)) { body, _ in body += block })
        })

    private func engine(_ server: ValkeyServer, patient isPatient: Bool) throws -> Engine {
        let storage = try ValkeyStorage(ValkeyAddress(server.url), timing: isPatient ? .patient : ValkeyTiming())
        let place = CachePlace.server("valkey") { storage }
        var configuration = Engine.Configuration(store: nil, cache: place)
        configuration.transport = StubTransport { request throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=3600", .eTag: "\"1\""], body: Self.bodies[request.url] ?? Data())
        }
        configuration.observers = []
        // Each lookup asks the server.
        configuration.memoryCapacity = 0
        return Engine(configuration)
    }

    /// Sends each request through each engine, and checks the answers.
    ///
    /// - Returns: the number of hits.
    private func sendAll(_ engines: [Engine], after fault: Fault?) async throws -> Int {
        var hits = 0
        for url in Self.urls {
            for engine in engines {
                let response = try await engine.send(Request(url))
                #expect(response.body == Self.bodies[url], "\(String(describing: fault)), \(url)")
                if response.source == .cache { hits += 1 }
            }
        }
        for engine in engines { await engine.cache?.flush() }
        return hits
    }

    private func command(_ command: RESPCommand, to server: ValkeyServer) async throws {
        let dialer = try ValkeyDialer(
            ValkeyAddress(server.url), group: MultiThreadedEventLoopGroup.singleton, clientName: "fault", channel: nil,
            timeout: .seconds(20))
        let link = ValkeyLink(dialer, timing: .patient, draw: { 0 }, onEvent: { _ in })
        defer { link.close() }
        _ = try await link.send([command], within: .seconds(20))
    }

    /// Changes every third key of the server.
    private func damage(_ server: ValkeyServer, by script: String) async throws {
        let client = try ValkeyEvents().client(server.url)
        defer { client.close() }
        let keys = try await client.scan("*", after: nil).keys.sorted()
        for index in stride(from: Int(Effort.seed % 3), to: keys.count, by: 3) {
            let other = keys[(index + 7) % keys.count]
            _ = try await client.run([ValkeyCall(script: script, keys: [keys[index], other], arguments: [])])
        }
    }

    @Test(arguments: Fault.allCases)
    func `a fault of the server is at most a miss, and never a wrong body`(_ fault: Fault) async throws {
        var server = try await ValkeyServer(["--dbfilename", "dump.rdb"])
        let engines = try (0..<2).map { _ in try engine(server, patient: fault != .silence) }
        for _ in 0..<Effort.rounds(2, soaking: 40) {
            // The circuit closes again some time after a fault.
            while try await sendAll(engines, after: nil) < Self.urls.count / 2 { try Task.checkCancellation() }
            switch fault {
            case .restart, .failover:
                if fault == .failover { try await command(RESPCommand("SAVE"), to: server) }
                await server.end()
                #expect(try await sendAll(engines, after: fault) == 0)
                server = try await server.restarted()
            case .silence:
                await server.pause()
                #expect(try await sendAll(engines, after: fault) == 0)
                server.resume()
            case .fullMemory:
                try await command(RESPCommand("CONFIG", "SET", "maxmemory-policy", "noeviction"), to: server)
                try await command(RESPCommand("CONFIG", "SET", "maxmemory", "1mb"), to: server)
                for engine in engines { _ = try? await engine.cache?.invalidate(.all) }
                _ = try await sendAll(engines, after: fault)
                try await command(RESPCommand("CONFIG", "SET", "maxmemory", "0"), to: server)
            case .lostKeys:
                try await damage(server, by: "return redis.call('DEL', KEYS[1])")
            case .mixedValues:
                try await damage(
                    server,
                    by: """
                        if redis.call('TYPE', KEYS[1]).ok ~= redis.call('TYPE', KEYS[2]).ok then return 0 end
                        return redis.call('RESTORE', KEYS[1], 0, redis.call('DUMP', KEYS[2]), 'REPLACE')
                        """)
            }
            _ = try await sendAll(engines, after: fault)
        }
        for engine in engines { await engine.close() }
    }
}
#endif
