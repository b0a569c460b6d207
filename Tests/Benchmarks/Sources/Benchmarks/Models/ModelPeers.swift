import DiamondModel
import Foundation

extension Benchmark {
    static let modelPeers = ModelPeer.allCases.map { peer in
        Benchmark(
            name: "\(peer.rawValue)-decode",
            method: "reading 10,000 objects of ten properties as models, to \(peer.result) of the same file",
            unit: "x \(peer.rawValue)",
            target: .atMost(1),
            isLong: true,
            measuring: { try await peer.race() }
        )
    }
}

/// A decoder of JSON in Python.
private enum ModelPeer: String, CaseIterable {
    case msgspec, orjson

    var result: String {
        switch self {
        case .msgspec: "msgspec's typed structs"
        case .orjson: "orjson's dictionaries"
        }
    }

    private static let (rounds, count) = (11, 5)

    /// Compares processor times in interleaved rounds. The first does not count.
    func race() async throws -> Benchmark.Measurement {
        try await Scratch.with { directory in
            let text = try Record.text(0..<10_000)
            let file = directory.appendingPathComponent("rows.json")
            try text.write(to: file)
            let python = try PythonProcess("decoders", [rawValue, file.path])
            defer { python.stop() }
            var (ratios, times): ([Double], [Double]) = ([], [])
            for round in 0...Self.rounds {
                let ours = try Models.seconds { for _ in 0..<Self.count { check(try Models.decoded(text).count) } }
                let theirs = try python.seconds("decode", Self.count)
                guard round > 0 else { continue }
                ratios.append(ours / theirs)
                times.append(ours / Double(Self.count))
            }
            let note = String(
                format: "%.1f ms, the peer's %.1f ms", times.median * 1e3, times.median / ratios.median * 1e3)
            return Benchmark.Measurement(value: ratios.median, notes: [note])
        }
    }

    private func check(_ count: Int) { precondition(count == 10_000) }
}
