import DiamondTestSupport
import DiamondTesting
import Foundation

/// The built `cachectl` with a store of its own.
struct Shell {
    let temporary = TemporaryStore()

    func callAsFunction(
        _ arguments: String...,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> BuiltTool.Outcome {
        try await self(arguments, input: input, environment: environment)
    }

    func callAsFunction(
        _ arguments: [String],
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> BuiltTool.Outcome {
        var tool = BuiltTool("cachectl")
        // Whatever language the machine speaks.
        tool.environment = ["LC_ALL": "C"].merging(environment) { $1 }
        tool.environment.merge([
            "DIAMOND_STORE": temporary.directory.path, "COLUMNS": "", "XDG_CACHE_HOME": "/nonexistent",
        ]) { $1 }
        return try await tool.run(arguments, input: input)
    }

    func file(_ name: String, _ text: String) throws -> String {
        let directory = temporary.directory.appendingPathExtension("files")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appending(path: name)
        try Data(text.utf8).write(to: file)
        return file.path
    }
}
