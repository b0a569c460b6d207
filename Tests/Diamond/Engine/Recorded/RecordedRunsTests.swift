import DiamondTestSupport
import Foundation
import Testing

/// Random runs, compared with the record of their earlier observable effects: a change of the code that is to preserve
/// behavior preserves the record.
///
/// `DIAMOND_RECORD=1` records them again into `Tests/Fixtures/RecordedRuns`; look at the difference before the commit.
/// `DIAMOND_RUNS=directory` writes the text of every run into a directory, also of those with a recorded digest only.
@Suite("Random runs compared with their records", .limit(minutes: 10)) struct RecordedRunsTests {
    private static let seeds = (1..<321 as Range<UInt64>).filter { !RunRecord.unsteady.contains($0) }
    /// The runs whose whole text is recorded.
    private static let texts = Array(seeds.prefix(20))
    /// The other runs. All of them are tried in long test runs, and when they are recorded.
    private static let digests = seeds.dropFirst(20).prefix(RunRecord.isWhole ? .max : Effort.rounds(20, soaking: 320))

    /// A run that differs is tried again: under load, two requests may enter a lane in any order. A change of code
    /// makes a run differ each time.
    private static let tries = 4

    @Test(arguments: texts) func `recorded runs produce their recorded text again`(seed: UInt64) async throws {
        let file = RunRecord.directory.appending(path: "run-\(seed).txt")
        var run = await RunRecord.run(seed)
        try RunRecord.keep(run)
        if RunRecord.isRecording { return try Data(run.text.utf8).write(to: file) }
        let recorded = try String(contentsOf: file, encoding: .utf8)
        for _ in 1..<Self.tries where run.text != recorded { run = await RunRecord.run(seed) }
        let isSame = run.text == recorded
        #expect(isSame, "\(RunRecord.difference(of: run.text, from: recorded))")
    }

    @Test func `recorded runs produce their recorded digests again`() async throws {
        var runs = try await RunRecord.runs(Self.digests)
        let file = RunRecord.directory.appending(path: "digests.txt")
        if RunRecord.isRecording {
            let text = runs.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
            return try Data(text.utf8).write(to: file)
        }
        let recorded = RunRecord.digests(in: try String(contentsOf: file, encoding: .utf8))
        var others = runs.keys.filter { runs[$0] != recorded[$0] }
        for _ in 1..<Self.tries {
            for seed in others { runs[seed] = await RunRecord.run(seed).digests }
            others = others.filter { runs[$0] != recorded[$0] }
        }
        #expect(others.isEmpty, "\(RunRecord.steps(of: others.sorted(), in: runs, otherThanIn: recorded))")
    }
}

/// The recorded runs.
enum RunRecord {
    /// Runs in which two requests enter a lane, or reach an entry, at the same moment, and either may be first.
    static let unsteady: Set<UInt64> = [
        5, 13, 23, 52, 62, 97, 98, 101, 128, 151, 179, 182, 188, 203, 212, 247, 277, 299, 304,
    ]

    static let directory = Fixture.directory.appending(path: "RecordedRuns")
    static let isRecording = ProcessInfo.processInfo.environment["DIAMOND_RECORD"] != nil
    /// Whether all runs are tried, however long that takes.
    static var isWhole: Bool { isRecording || kept != nil }
    private static let kept = ProcessInfo.processInfo.environment["DIAMOND_RUNS"]

    /// The record of a run.
    struct Run: Sendable {
        let seed: UInt64
        let text: String
        /// Four digits for each step.
        let digests: String
        let restlessSteps: Int
    }

    static func run(_ seed: UInt64) async -> Run {
        let run = RecordedRun(seed: seed)
        await run.run(40 + Int(seed % 3) * 10)
        let digests = run.steps.map { RunDigest.text(of: $0.joined(separator: "\n").utf8).suffix(4) }
        return Run(
            seed: seed, text: run.text, digests: digests.joined(separator: " "), restlessSteps: run.restlessSteps)
    }

    static func keep(_ run: Run) throws {
        guard let kept else { return }
        let directory = URL(filePath: kept)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data(run.text.utf8).write(to: directory.appending(path: "run-\(run.seed).txt"))
        if run.restlessSteps > 0 {
            try Data("\(run.restlessSteps)\n".utf8).write(to: directory.appending(path: "restless-\(run.seed).txt"))
        }
    }

    /// The first lines that differ, with what comes before them.
    static func difference(of text: String, from recorded: String) -> String {
        let now = text.split(separator: "\n")
        let before = recorded.split(separator: "\n")
        let same = zip(now, before).prefix { $0 == $1 }.count
        let context = now[max(0, same - 8)..<same].joined(separator: "\n")
        let old = before.dropFirst(same).prefix(8).joined(separator: "\n")
        let new = now.dropFirst(same).prefix(8).joined(separator: "\n")
        return "\(context)\nrecorded:\n\(old)\nnow:\n\(new)"
    }

    /// The digests of runs, by their seeds, 24 at a time.
    static func runs(_ seeds: some Sequence<UInt64>) async throws -> [UInt64: String] {
        try await withThrowingTaskGroup(of: Run.self) { group in
            var seeds = seeds.makeIterator()
            var runs: [UInt64: String] = [:]
            let add: (UInt64) -> Void = { seed in group.addTask { await RunRecord.run(seed) } }
            for _ in 0..<24 { seeds.next().map(add) }
            while let run = try await group.next() {
                try keep(run)
                runs[run.seed] = run.digests
                seeds.next().map(add)
            }
            return runs
        }
    }

    /// The recorded digests, by their seeds.
    static func digests(in text: String) -> [UInt64: String] {
        var digests: [UInt64: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let seed = UInt64(parts[0]) else { continue }
            digests[seed] = String(parts[1])
        }
        return digests
    }

    /// The runs and steps that differ.
    static func steps(
        of seeds: [UInt64],
        in runs: [UInt64: String],
        otherThanIn recorded: [UInt64: String]
    ) -> String {
        seeds.map { seed in
            let now = (runs[seed] ?? "").split(separator: " ")
            let before = (recorded[seed] ?? "").split(separator: " ")
            let same = zip(now, before).prefix { $0 == $1 }.count
            return "run \(seed) from step \(same) on"
        }.joined(separator: "; ")
    }
}
