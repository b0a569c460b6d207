import Diamond
import DiamondModel
import Foundation
import HTTPTypes

extension Benchmark {
    static let models =
        writes + [
            Benchmark(
                name: "model-set",
                method: "setting a tracked property, to setting one of an @Observable class",
                unit: "x @Observable",
                target: .atMost(1.5),
                measure: { Models.sets() }
            ),
            Benchmark(
                name: "model-decode",
                method: "reading 10,000 objects of ten properties, to synthesized Codable structs of JSONDecoder",
                unit: "x Codable",
                target: .atMost(0.35),
                measure: { try Models.decoding(10_000) }
            ),
            Benchmark(
                name: "model-decode-100k",
                method: "reading 100,000 objects of ten properties, to synthesized Codable structs of JSONDecoder",
                unit: "x Codable",
                target: .atMost(0.35),
                measure: { try Models.decoding(100_000) }
            ),
            Benchmark(
                name: "model-memory-hit",
                method: "a list of 100 KiB that is loaded into a new collection from the memory of an engine",
                unit: "ms",
                target: .atMost(1),
                measure: { try await Scratch.with { try await Models.loadFromMemory(in: $0) } }
            ),
            Benchmark(
                name: "codable-decode",
                method: "decoding 10,000 Codable structs of ten properties from a response, to JSONDecoder",
                unit: "x JSONDecoder",
                target: .atMost(0.5),
                measure: { try Models.decodingStructs() }
            ),
            Benchmark(
                name: "model-encode",
                method:
                    "writing 10,000 objects of ten properties that were read as JSON text, to JSONEncoder with structs",
                unit: "x JSONEncoder",
                target: .atMost(0.4),
                measuring: { try Models.encoding() }
            ),
            Benchmark(
                name: "codable-encode",
                method: "making a JSON body of 10,000 Codable structs of ten properties, to the text of JSONEncoder",
                unit: "x JSONEncoder",
                target: .atMost(0.5),
                measuring: { try Models.encodingStructs() }
            ),
        ]

    private static let writes = Models.Audience.allCases.map { audience in
        Benchmark(
            name: "model-writes-\(audience.rawValue)",
            method: "1,000,000 writes of a property of a model \(audience.description)",
            unit: "ms",
            target: .atMost(audience.limit),
            measure: { try Models.writing(to: audience) }
        )
    }
}

/// The figures of single models, each the best of several runs in one thread.
enum Models {
    /// Those that are told of a change.
    enum Audience: String, CaseIterable {
        case nobody
        case observer
        case collection
        case table

        var description: String {
            switch self {
            case .nobody: "that nothing observes"
            case .observer: "with one observer"
            case .collection: "in a collection of 1,000 rows, sorted by key path"
            case .table: "in an observed collection of 1,000 rows, sorted by key path"
            }
        }

        var limit: Double {
            switch self {
            case .nobody: 50
            case .observer: 150
            case .collection: 200
            case .table: 400
            }
        }
    }

    static func writing(to audience: Audience) throws -> Double {
        let row = try Row.make(500)
        var events = 0
        let rows = ModelCollection<Row>()
        var token: ObserverToken?
        if audience == .collection || audience == .table {
            try rows.set((0..<1000).map { try $0 == 500 ? row : Row.make($0) })
            rows.sortKeys = [.by(\.name, named: "name")]
        }
        if audience == .observer { token = row.observe { _ in events += 1 } }
        if audience == .table { token = rows.observe { events += $0.updates.count } }
        let time = best(of: 3) { for value in 1...1_000_000 { row.rank = value } }
        precondition(events == (token == nil ? 0 : 3_000_000))
        token?.cancel()
        return time * 1e3
    }

    static func sets() -> Double {
        let row = Row()
        let plain = Plain()
        return best { for value in 0..<200_000 { row.rank = value } }
            / best { for value in 0..<200_000 { plain.rank = value } }
    }

    static func decoding(_ count: Int) throws -> Double {
        let text = try Record.text(0..<count)
        let runs = count > 10_000 ? 3 : 15
        let ours = try best(of: runs) { check(try decoded(text).count) }
        let peer = try best(of: runs) { check(try JSONDecoder().decode([Record].self, from: text).count) }
        func check(_ found: Int) { precondition(found == count) }
        return ours / peer
    }

    /// The processor time of a load from its call to the rows, in milliseconds.
    static func loadFromMemory(in directory: URL) async throws -> Double {
        let size = 100 << 10
        let bytesPerRow = try Record.text(0..<1000).count / 1000
        let text = try Record.text(0..<(size / bytesPerRow))
        var configuration = Engine.Configuration(store: Store(directory: directory))
        configuration.transport = ListTransport(text: text)
        let engine = Engine(configuration)
        let request = Request("https://api.example.com/v1/rows")
        _ = try await engine.send(request)
        await engine.cache?.flush()
        var times: [Double] = []
        for _ in 0..<200 {
            let rows = ModelCollection<Row>(context: ModelContext(engine: engine))
            rows.source = PageSource(engine, request)
            times.append(try await Effort.of { try await rows.load() }.processor)
            precondition(rows.count == size / bytesPerRow)
        }
        await engine.close()
        return times.median * 1e3
    }

    static func decodingStructs() throws -> Double {
        let text = try Record.text(0..<10_000)
        let response = Response(text: String(decoding: text, as: UTF8.self))
        let ours = try best { check(try response.decode([Record].self).count) }
        let peer = try best { check(try JSONDecoder().decode([Record].self, from: text).count) }
        func check(_ count: Int) { precondition(count == 10_000) }
        return ours / peer
    }

    static func encoding() throws -> Benchmark.Measurement {
        let text = try Record.text(0..<10_000)
        let records = try JSONDecoder().decode([Record].self, from: text)
        let peer = try best { check(try JSONEncoder().encode(records).count) }
        func ratio(_ rows: ModelCollection<Row>) throws -> Double {
            try best { check(try rows.jsonText().count) } / peer
        }
        func check(_ count: Int) { precondition(count > 1_000_000) }
        let read = try ratio(decoded(text))
        let changed = try decoded(text)
        for row in changed { row.rank += 1 }
        let new = try ModelCollection<Row>(records.map(Row.init(new:)))
        return try Benchmark.Measurement(
            value: read,
            notes: [
                String(format: "with a changed property: %.2f; new objects: %.2f", ratio(changed), ratio(new))
            ])
    }

    static func encodingStructs() throws -> Benchmark.Measurement {
        let records = (0..<10_000).map(Record.init)
        let peer = try best { check(try JSONEncoder().encode(records).count) }
        let ours = try best { check(try RequestBody.json(encoding: records).jsonValue == nil ? 0 : 1) }
        let bytes = try best { check(try RequestBody.json(encoding: records).encoded().count) }
        func check(_ count: Int) { precondition(count > 0) }
        return Benchmark.Measurement(
            value: ours / peer, notes: [String(format: "with the bytes in canonical form: %.2f", bytes / peer)])
    }

    /// Reads a text into a new collection.
    static func decoded(_ text: Data) throws -> ModelCollection<Row> {
        let rows = ModelCollection<Row>(context: ModelContext())
        try rows.set(text)
        return rows
    }

    /// A transport that answers with a list that stays fresh.
    private struct ListTransport: Transport {
        let text: Data

        func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
            let headers: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=315360000"]
            return TransportResponse(status: .ok, headers: headers, body: BodyStream(text))
        }

        func close() async {}
    }

    /// Returns the processor time of some work in seconds.
    static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = Effort.seconds(CLOCK_PROCESS_CPUTIME_ID)
        try body()
        return Effort.seconds(CLOCK_PROCESS_CPUTIME_ID) - start
    }

    static func best(of count: Int = 15, _ body: () throws -> Void) rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<count { best = try min(best, seconds(body)) }
        return best
    }
}
