import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A damaged store of variants and parts", .limit(minutes: 5)) struct VariantDamageTests {
    /// The requests before the damage: variants of one resource, as a whole or in ranges.
    private static let samples: [VariantSample] = VariantSample.kinds.flatMap { kind in
        [0, 1, 2].map { VariantSample(number: $0, kind: kind) }
    }

    private func engine(_ temporary: TemporaryStore, _ transport: StubTransport) -> Engine {
        temporary.engine(transport) {
            $0.identityPreset = .http
            $0.memoryCapacity = 0
        }
    }

    /// Returns the files of a store with a whole response for each even kind, and two parts for each odd one.
    private func original() async throws -> [(name: String, bytes: Data)] {
        let temporary = TemporaryStore()
        let transport = StubTransport { request throws(TransportError) in
            VariantSample.response(to: request, version: 1)
        }
        let engine = engine(temporary, transport)
        for sample in Self.samples {
            for range in sample.kind.isMultiple(of: 2) ? [nil] : sample.ranges.suffix(2) {
                _ = try await engine.send(sample.request(range))
            }
        }
        #expect(try await served(by: engine) > 40)
        await engine.close()
        return try ["cache.sqlite", "cache.sqlite-wal"].compactMap { name in
            let file = temporary.directory.appending(path: name)
            guard FileManager.default.fileExists(atPath: file.path) else { return nil }
            return (name: name, bytes: try Data(contentsOf: file))
        }
    }

    /// Sends every request to the cache alone. Each response is one that the server has sent, or none.
    ///
    /// - Returns: the number of responses.
    private func served(by engine: Engine, _ place: @autoclosure () -> String = "") async throws -> Int {
        var count = 0
        for sample in Self.samples {
            for range in sample.ranges {
                var request = sample.request(range)
                request.cache = .cacheOnly
                let response = try await engine.send(request)
                guard response.source != .generated else { continue }
                #expect(sample.isSound(response), "\(sample), \(place())")
                count += 1
            }
        }
        return count
    }

    @Test func `never answers with a wrong response`() async throws {
        let original = try await original()
        var random = SplitMix(state: Effort.seed)
        for round in 0..<Effort.rounds(30, soaking: 300) {
            var files = original
            let file = random.below(files.count)
            let bit = random.below(files[file].bytes.count * 8)
            files[file].bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            let temporary = TemporaryStore()
            try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
            for file in files { try file.bytes.write(to: temporary.directory.appending(path: file.name)) }
            let engine = engine(temporary, StubTransport(status: 504, body: ""))
            // The first round drops damaged entries, and so writes to the damaged file.
            for _ in 1...2 { _ = try await served(by: engine, "round \(round), bit \(bit), seed \(Effort.seed)") }
            await engine.close()
        }
    }

    @Test(arguments: [
        "UPDATE entry SET flags = flags & ~512 WHERE flags & 512",
        "UPDATE entry SET flags = flags | 512 WHERE flags & 512 = 0 AND is_partial = 0",
        "UPDATE entry SET headers = CAST(replace(CAST(headers AS TEXT), 'x-kind', 'x-kinds') AS BLOB) WHERE flags & 512",
        "UPDATE entry SET is_partial = 0, flags = flags & ~64 WHERE is_partial = 1 AND flags & 512 = 0",
        "UPDATE entry SET headers = CAST(replace(CAST(headers AS TEXT), '-1\"', '-2\"') AS BLOB)",
        "UPDATE body SET bytes = zeroblob(length(bytes))",
    ])
    func `changed rows never answer a request`(statement: String) async throws {
        let temporary = TemporaryStore()
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        for file in try await original() { try file.bytes.write(to: temporary.directory.appending(path: file.name)) }
        try temporary.execute(statement)
        let engine = engine(temporary, StubTransport(status: 504, body: ""))
        _ = try await served(by: engine, statement)
        await engine.close()
    }
}
