import Diamond
import Foundation

extension Benchmark {
    static let bodies = [
        Benchmark(
            name: "stream-100m-memory",
            method: """
                growth of the process's largest resident size (VmHWM) while a body of 100 MiB is stored in pieces of \
                64 KiB and read back in chunks, each checked
                """,
            unit: "MiB",
            target: .atMost(8),
            measuring: { try await Scratch.with { try await Bodies(directory: $0).memory() } }
        )
    ]
}

/// A large body that is stored and read in pieces.
private struct Bodies {
    private static let size = 100 << 20
    private static let pieceSize = 64 << 10

    private let cache: Cache
    private let entry: CacheEntry

    init(directory: URL) throws {
        cache = try Cache(Store(directory: directory), memoryCapacity: 0, diskCapacity: 1 << 30)
        entry = Entries.make(1, bodySize: 0)
    }

    func memory() async throws -> Benchmark.Measurement {
        let start = try PeakMemory.restart()
        let stored = try await Effort.of(store)
        let storing = try PeakMemory.bytes() - start
        _ = try PeakMemory.restart()
        let read = try await Effort.of(read)
        let reading = try PeakMemory.bytes() - start
        return Benchmark.Measurement(
            value: Double(max(storing, reading)) / 1_048_576,
            notes: [Self.text("stored", storing, stored), Self.text("read", reading, read)]
        )
    }

    private static func text(_ verb: String, _ bytes: Int, _ effort: Effort) -> String {
        String(
            format: "%@: %.1f MiB more, %.0f MiB/s, %.2f s of processor time",
            verb, Double(bytes) / 1_048_576, 100 / effort.wall, effort.processor)
    }

    private static func piece(_ number: Int) -> Data { Data(repeating: UInt8(number % 251), count: pieceSize) }

    private func store() async throws {
        let writer = try cache.bodyWriter(for: entry)
        for number in 0..<Self.size / Self.pieceSize { try await writer.append(Self.piece(number)) }
        try await writer.finish()
    }

    private func read() async throws {
        guard var reader = try cache.bodyReader(entry.key, request: entry.request) else { throw Failure("not found") }
        var count = 0
        while let chunk = try reader.next() {
            let number = count / Self.pieceSize
            guard chunk.prefix(Self.pieceSize) == Self.piece(number) else { throw Failure("a chunk is wrong") }
            count += chunk.count
        }
        guard count == Self.size else { throw Failure("\(count) bytes came back") }
    }
}

/// The peak resident size of this process, from Linux's proc(5).
private enum PeakMemory {
    /// Resets the peak.
    ///
    /// - Returns: the resident bytes now.
    static func restart() throws -> Int {
        guard let file = fopen("/proc/self/clear_refs", "w") else { throw Failure("only Linux tells its peak") }
        fputs("5", file)
        fclose(file)
        return try bytes()
    }

    static func bytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let number = line?.split(separator: " ").dropLast().last.flatMap({ Int($0) }) else {
            throw Failure("only Linux tells its peak")
        }
        return number * 1024
    }
}
