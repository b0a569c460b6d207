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
            measure: { try await Nginx.with { try await EngineSends.ratio(width, $0.url) } }
        )
    }
}

private enum EngineSends {
    static func ratio(_ width: Int, _ url: String) async throws -> Double {
        let count = 6400
        var configuration = Engine.Configuration(store: nil)
        // The transport alone has no limit either.
        configuration.originWidth = width
        let engine = Engine(configuration)
        let transport = CurlTransport()
        let race = Race(
            ours: { try await Load.run(count, width: width) { try await engine.fetch(url) } },
            peer: { try await Load.run(count, width: width) { try await transport.fetch(url) } }
        )
        let ratio = try await race.ratio(of: \.processor)
        await transport.close()
        await engine.close()
        return ratio
    }
}

extension Engine {
    /// Gets a body as the bare transport does, past the cache.
    func fetch(_ url: String) async throws {
        let response = try await send(Request(url, cache: .noStore))
        guard response.status == .ok, response.body.count == Nginx.bodySize else {
            throw Failure("\(url) answered wrongly")
        }
    }
}
