import Foundation

/// A directory for one benchmark.
enum Scratch {
    static func with<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
        let directory = try make()
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await body(directory)
    }

    /// A directory that the caller removes.
    static func make() throws -> URL {
        let name = "diamond-benchmark-\(UUID().uuidString)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }
}
