import DiamondTestSupport
import DiamondTesting
import Foundation

/// The built `cachectl` with a store of its own.
struct Shell {
    let temporary = TemporaryStore()
    private let folder = TemporaryFolder()

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
        try await tool(environment).run(arguments, input: input)
    }

    /// - Parameter environment: beside that of a shell.
    func tool(_ environment: [String: String] = [:]) -> BuiltTool {
        var tool = BuiltTool("cachectl")
        // Whatever language the machine speaks, and whatever terminal runs the tests.
        tool.environment = ["LC_ALL": "C", "TERM": "xterm"].merging(environment) { $1 }
        tool.environment.merge([
            "DIAMOND_STORE": temporary.directory.path, "COLUMNS": "", "XDG_CACHE_HOME": "/nonexistent",
        ]) { $1 }
        return tool
    }

    func file(_ name: String, _ text: String) throws -> String {
        try folder.file(name, Data(text.utf8)).path
    }
}
