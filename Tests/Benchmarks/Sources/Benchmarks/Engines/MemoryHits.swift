import Diamond
import Foundation
import HTTPTypes

extension Benchmark {
    static let memoryHit = Benchmark(
        name: "memory-hit",
        method: "requests a second of processor time that one engine answers from memory, the request's key known",
        unit: "hits/s",
        target: .atLeast(300_000),
        measure: { try await Scratch.with { try await MemoryHits.rate(in: $0) } }
    )
}

private enum MemoryHits {
    private static let count = 200_000
    private static let rounds = 7

    static func rate(in directory: URL) async throws -> Double {
        var configuration = Engine.Configuration(store: Store(directory: directory))
        configuration.transport = CannedTransport()
        let engine = Engine(configuration)
        let requests = (0..<64).map { Request("https://api.example.com/v1/cities?country=DE&page=\($0)&perPage=50") }
        for request in requests { _ = try await engine.send(request) }
        await engine.cache?.flush()
        var rates: [Double] = []
        for _ in 0..<rounds {
            let effort = try await Effort.of { try await hit(requests, engine) }
            rates.append(Double(count) / effort.processor)
        }
        await engine.close()
        return rates.median
    }

    private static func hit(_ requests: [Request], _ engine: Engine) async throws {
        for number in 0..<count {
            let response = try await engine.send(requests[number % requests.count])
            guard response.source == .cache, response.body.count == 1024 else { throw Failure("no hit") }
        }
    }
}

/// Answers every request with what an API would, without a network.
struct CannedTransport: Transport {
    // Made once: what is measured is not what a server's answer costs to make.
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
