import Diamond
import DiamondValkey
import Foundation

/// Hits a second beside requests-cache with its Redis backend, on the same server.
enum ValkeyPeer {
    static let row = Row(
        name: "valkey-requests-cache",
        method: "hits a second of 1 KiB, one after the other, by an engine as it is made, to requests-cache over Redis",
        unit: "x requests-cache", target: .atLeast(25)
    ) { try await measure() }

    @concurrent private static func measure() async throws -> (Double, [String]) {
        let path = try Failure.variable("DIAMOND_VALKEY_SOCKET")
        let python = try PythonProcess("caches", [path])
        defer { python.stop() }
        let url = try python.line()
        var configuration = Engine.Configuration(store: nil, cache: .valkey("valkey+unix://\(path)"))
        let engine = Engine(configuration)
        configuration.memoryCapacity = 0
        let bare = Engine(configuration)
        let peer = { 500 / (try python.seconds("hits", 500)) }
        let whole = try await compare(unit: "hits a second") { (try await rate(engine, url, 10_000), try peer()) }
        let served = try await compare(unit: "hits a second") { (try await rate(bare, url, 1_000), try peer()) }
        await engine.close()
        await bare.close()
        let note = String(format: "without a memory tier %.2f x: ", served.value)
        return (whole.value, whole.notes + served.notes.map { note + $0 })
    }

    private static func rate(_ engine: Engine, _ url: String, _ count: Int) async throws -> Double {
        _ = try await engine.send(Request(url))
        // It is stored in the background.
        await engine.cache?.flush()
        return try await Double(count)
            / seconds {
                for _ in 0..<count {
                    let response = try await engine.send(Request(url))
                    guard response.source == .cache, response.body.count == 1024 else { throw Failure("a miss") }
                }
            }
    }
}
