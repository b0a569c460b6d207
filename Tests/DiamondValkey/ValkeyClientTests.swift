#if Valkey
import DiamondTestSupport
import Foundation
import NIOCore
import Testing

@testable import DiamondValkey

@Suite("ValkeyClient", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"), .limit(minutes: 2))
struct ValkeyClientTests {
    @Test func `each verb has its effect on a server`() async throws {
        let server = try await ValkeyServer()
        let client = try ValkeyEvents().client(server.url)
        defer { client.close() }
        try await client.write([ValkeyWrite("a", "1"), ValkeyWrite("none", nil)])
        #expect(try await client.values(of: ["a", "b"], isTracked: false) == [ByteBuffer(string: "1"), nil])
        let script = "redis.call('HSET', KEYS[1], 'f', ARGV[1]) return {1, ARGV[1]}"
        let call = ValkeyCall(script: script, keys: ["h"], arguments: [ByteBuffer(string: "v")])
        #expect(try await client.run([call]) == [.array([.integer(1), .bulk(ByteBuffer(string: "v"))])])
        let fields = try await client.fields(of: ["h", "b", "a"], isTracked: true)
        #expect(fields == [[ValkeyField(name: "f", value: ByteBuffer(string: "v"))], [], []])
        #expect(try await client.scan("h*", after: nil).keys == ["h"])
        #expect(client.silence != nil)
    }

    @Test func `many commands at once get their own answers`() async throws {
        let server = try await ValkeyServer()
        let client = try ValkeyEvents().client(server.url)
        defer { client.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    try await client.write([ValkeyWrite("k\(number)", "\(number)")])
                    let values = try await client.values(of: ["k\(number)", "none"], isTracked: number % 2 == 0)
                    #expect(values == [ByteBuffer(string: "\(number)"), nil])
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a change by another client is reported once the key was read, and an own script's is not`() async throws
    {
        let server = try await ValkeyServer()
        let events = ValkeyEvents()
        let (client, other) = (try events.client(server.url), try ValkeyEvents().client(server.url))
        defer {
            client.close()
            other.close()
        }
        let call = ValkeyCall(script: "return redis.call('SET', KEYS[1], 'own')", keys: ["own"], arguments: [])
        _ = try await client.values(of: ["read", "own"], isTracked: true)
        _ = try await client.values(of: ["untracked"], isTracked: false)
        _ = try await client.run([call])
        try await other.write([ValkeyWrite("untracked", "1"), ValkeyWrite("read", "2"), ValkeyWrite("own", "3")])
        await untilTrue { events.changed.count >= 2 }
        #expect(events.changed == [["read"], ["own"]])
        let announcement = ValkeyCall(
            script: "return redis.call('PUBLISH', KEYS[1], ARGV[1])", keys: ["test:changes"],
            arguments: [ByteBuffer(string: "news")])
        _ = try await other.run([announcement])
        await untilTrue { !events.announced.isEmpty }
        #expect(events.announced == ["news"])
    }

    @Test func `all tracked keys have changed when a server is emptied`() async throws {
        let server = try await ValkeyServer()
        let events = ValkeyEvents()
        let client = try events.client(server.url)
        defer { client.close() }
        _ = try await client.values(of: ["a"], isTracked: true)
        _ = try await client.run([ValkeyCall(script: "return redis.call('FLUSHALL')", keys: ["x"], arguments: [])])
        await untilTrue { !events.changed.isEmpty }
        #expect(events.changed == [nil])
    }

    @Test func `a server that is gone fails commands at once, and is found again`() async throws {
        var server = try await ValkeyServer()
        let events = ValkeyEvents()
        let client = try events.client(server.url)
        defer { client.close() }
        _ = try await client.values(of: ["a"], isTracked: true)
        await server.end()
        await untilTrue { !events.losses.isEmpty }
        let error = await #expect(throws: ValkeyError.self) { try await client.values(of: ["a"], isTracked: true) }
        #expect(error?.code == .unreachable)
        #expect(client.silence == nil)
        server = try await server.restarted()
        await untilTrue { events.connections == 2 }
        #expect(try await client.values(of: ["a"], isTracked: true) == [nil])
    }

    @Test func `a server that stalls delays one command, then others fail at once, until it answers`() async throws {
        let server = try await ValkeyServer()
        let events = ValkeyEvents()
        var timing = ValkeyTiming.patient
        timing.lookup = .milliseconds(300)
        let client = try events.client(server.url, timing: timing)
        defer { client.close() }
        while (try? await client.values(of: ["a"], isTracked: true)) == nil {}
        await server.pause()
        let late = await #expect(throws: ValkeyError.self) { try await client.values(of: ["a"], isTracked: true) }
        #expect(late?.code == .timeout)
        let start = ContinuousClock.now
        for _ in 0..<20 {
            await #expect(throws: ValkeyError.self) { try await client.values(of: ["a"], isTracked: true) }
        }
        #expect(ContinuousClock.now - start < .seconds(3))
        server.resume()
        // The late answers are dropped, and later commands get their own.
        while (try? await client.write([ValkeyWrite("b", "2")])) == nil {}
        var value: [ByteBuffer?]?
        while value == nil { value = try? await client.values(of: ["b"], isTracked: true) }
        #expect(value == [ByteBuffer(string: "2")])
        #expect(events.connections == 1)
    }

    @Test func `a silent connection is closed`() async throws {
        let server = try await ValkeyServer()
        let events = ValkeyEvents()
        var timing = ValkeyTiming.patient
        timing.silence = .milliseconds(500)
        timing.ping = .milliseconds(50)
        let client = try events.client(server.url, timing: timing)
        defer { client.close() }
        await untilTrue { events.connections > 0 }
        await server.pause()
        await untilTrue { !events.losses.isEmpty }
        #expect(client.silence == nil)
    }

    @Test func `more commands than the queue holds are refused`() async throws {
        let server = try await ValkeyServer()
        var timing = ValkeyTiming.patient
        timing.queue = (commands: 10, bytes: 1000)
        let events = ValkeyEvents()
        let client = try events.client(server.url, timing: timing)
        defer { client.close() }
        _ = try await client.values(of: ["a"], isTracked: true)
        let many = await #expect(throws: ValkeyError.self) {
            try await client.values(of: (0..<11).map(String.init), isTracked: true)
        }
        #expect(many?.code == .busy)
        let large = await #expect(throws: ValkeyError.self) {
            try await client.write([ValkeyWrite("a", String(repeating: "x", count: 2000))])
        }
        #expect(large?.code == .busy)
        #expect(try await client.values(of: ["a"], isTracked: true) == [nil])
    }

    @Test func `a password lets in, and a wrong one is in no error`() async throws {
        let server = try await ValkeyServer(["--requirepass", "hunter2"])
        let path = server.url.dropFirst("valkey+unix://".count)
        let right = try ValkeyEvents().client("valkey+unix://:hunter2@\(path)")
        let wrong = try ValkeyEvents().client("valkey+unix://app:hunter3@\(path)")
        let none = try ValkeyEvents().client(server.url)
        defer { for client in [right, wrong, none] { client.close() } }
        #expect(try await right.values(of: ["a"], isTracked: true) == [nil])
        for client in [wrong, none] {
            let error = await #expect(throws: ValkeyError.self) { try await client.values(of: ["a"], isTracked: true) }
            #expect(error?.code == .refused)
            #expect(error.map { !"\($0)".contains("hunter") } == true)
        }
    }

    @Test func `a server is trusted over TLS by the certificates of its address alone`() async throws {
        let identity = try await TLSServer.Identity()
        let port = Int.random(in: 20_000..<60_000)
        let server = try await ValkeyServer([
            "--tls-port", "\(port)", "--tls-cert-file", identity.certificate.path, "--tls-key-file",
            identity.privateKey.path, "--tls-ca-cert-file", identity.certificate.path, "--tls-auth-clients", "no",
        ])
        for host in ["127.0.0.1", "localhost"] {
            let url = "valkeys://\(host):\(port)"
            let right = try ValkeyEvents().client("\(url)?ca=\(identity.certificate.path)")
            let wrong = try ValkeyEvents().client(url)
            #expect(try await right.values(of: ["a"], isTracked: true) == [nil])
            let error = await #expect(throws: ValkeyError.self) { try await wrong.values(of: ["a"], isTracked: true) }
            #expect(error?.code == .unreachable)
            right.close()
            wrong.close()
        }
        let error = #expect(throws: ValkeyError.self) {
            try ValkeyEvents().client("valkeys://h?ca=\(identity.certificate.path).missing")
        }
        #expect(error?.code == .badAddress)
        withExtendedLifetime(server) {}
    }

    @Test func `a server without memory refuses writes, and answers reads`() async throws {
        let server = try await ValkeyServer(["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"])
        let client = try ValkeyEvents().client(server.url)
        defer { client.close() }
        try await client.write([ValkeyWrite("a", "1")])
        let large = String(repeating: "x", count: 1 << 20)
        let error = await #expect(throws: ValkeyError.self) {
            for number in 0..<9 { try await client.write([ValkeyWrite("b\(number)", large)]) }
        }
        #expect(error?.code == .outOfMemory)
        #expect(try await client.values(of: ["a"], isTracked: true) == [ByteBuffer(string: "1")])
    }

    @Test(arguments: [
        (0, 1.0, 50), (0, 0.5, 25), (1, 1.0, 100), (6, 1.0, 3200), (7, 1.0, 5000), (1000, 1.0, 5000), (3, 0.0, 0),
    ])
    func `attempts to connect wait longer each time, by chance`(failures: Int, draw: Double, milliseconds: Int) {
        #expect(ValkeyTiming().delay(afterFailures: failures, draw: draw) == .milliseconds(milliseconds))
    }
}
#endif
