import Foundation

/// A directory for the time of one benchmark.
enum Scratch {
    static func with<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let name = "diamond-benchmark-\(UUID().uuidString)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await body(directory)
    }
}
