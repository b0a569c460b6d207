import Diamond
import Foundation
import HTTPTypes

extension Benchmark {
    static let engines = [1, 8, 64].map { width in
        Benchmark(
            name: "engine-nostore-\(width)",
            method:
                "processor time of a request through the engine with the policy noStore, \(width) at a time, to the bare transport",
            unit: "x transport",
            target: .atMost(1.3),
            measuring: { try await Nginx.with { try await EngineSends.measurement(width, $0.url) } }
        )
    }
}

private enum EngineSends {
    static func measurement(_ width: Int, _ url: String) async throws -> Benchmark.Measurement {
        let count = 6400
        var configuration = Engine.Configuration(store: nil)
        // Like the bare transport, without a limit.
        configuration.originWidth = width
        let engine = Engine(configuration)
        let transport = CurlTransport()
        let peer = { try await Load.run(count, width: width) { try await transport.fetch(url) } }
        let race = Race(
            ours: { try await Load.run(count, width: width) { try await engine.fetch(url) } },
            peer: peer
        )
        let floor = Race(
            ours: { try await Load.run(count, width: width) { try await transport.fetchApart(url) } },
            peer: peer
        )
        let measurement = Benchmark.Measurement(
            value: try await race.ratio(of: \.processor),
            notes: [Benchmark.note(floor: try await floor.ratio(of: \.processor))]
        )
        await transport.close()
        await engine.close()
        return measurement
    }
}

extension Engine {
    /// Gets a body as the bare transport does, without the cache.
    func fetch(_ url: String) async throws {
        let response = try await send(Request(url, cache: .noStore))
        guard response.status == .ok, response.body.count == Nginx.bodySize else {
            throw Failure("\(url) answered wrongly")
        }
    }
}
