import Diamond
import Foundation

extension Benchmark {
    static let texts = SampleText.allCases.flatMap { text in
        [
            Benchmark(
                name: "json-scan-\(text.rawValue)",
                method: "scanning \(text.description) without making values",
                unit: "MB/s",
                target: .atLeast(500),
                measure: { try Texts.scanning(text) }
            ),
            Benchmark(
                name: "json-read-\(text.rawValue)",
                method: "reading \(text.description) as a JSON value; note: JSONSerialization",
                unit: "MB/s",
                target: .atLeast(text == .objects ? 100 : 200),
                measuring: { try Texts.reading(text) }
            ),
            Benchmark(
                name: "json-write-\(text.rawValue)",
                method: "writing the JSON value of \(text.description) in canonical form",
                unit: "MB/s",
                target: .atLeast(150),
                measure: { try Texts.writing(text) }
            ),
        ]
    }
}

/// The figures of JSON without models, each the best of several runs in one thread.
enum Texts {
    static func scanning(_ text: SampleText) throws -> Double {
        let bytes = text.bytes
        return try rate(of: bytes.count) {
            try bytes.withUnsafeBytes { bytes in
                let tape = try JSONTape(scanning: bytes)
                check(withExtendedLifetime(tape) { tape.root.count } > 0)
            }
        }
    }

    static func reading(_ text: SampleText) throws -> Benchmark.Measurement {
        let bytes = text.bytes
        let ours = try rate(of: bytes.count) { check(try JSONValue(reading: bytes) != .null) }
        let peer = try rate(of: bytes.count) { _ = try JSONSerialization.jsonObject(with: bytes) }
        return Benchmark.Measurement(value: ours, notes: [String(format: "JSONSerialization: %.0f MB/s", peer)])
    }

    static func writing(_ text: SampleText) throws -> Double {
        let value = try JSONValue(reading: text.bytes)
        return try rate(of: JSONWriter.text(of: value).count) { check(try !JSONWriter.text(of: value).isEmpty) }
    }

    private static func check(_ isRight: Bool) { precondition(isRight) }

    /// Returns the megabytes per second of processor time.
    private static func rate(of count: Int, _ body: () throws -> Void) rethrows -> Double {
        try Double(count) / Models.best(of: 9, body) / 1e6
    }
}
