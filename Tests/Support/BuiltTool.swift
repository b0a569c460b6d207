package import Foundation

/// An executable of this package as it was built beside the tests, run for real.
package struct BuiltTool: Sendable {
    package struct Outcome: Sendable {
        package var status: Int32
        package var output: Data
        package var errors: String
        package var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// What builds every executable.
    package static let command = "swift build --traits default,Tools --build-tests"

    package var url: URL
    package var environment: [String: String] = [:]

    package init(_ name: String) { url = Self.directory.appending(path: name) }

    /// Where the build put the products: on Linux beside the test bundle's executable, on Apple beside the bundle.
    package static var directory: URL {
        var place = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        if let bundle = CommandLine.arguments.first(where: { $0.contains(".xctest") }) {
            place = URL(filePath: bundle.components(separatedBy: ".xctest")[0]).deletingLastPathComponent()
        }
        return place
    }

    /// Runs to the end; both outputs are read as they come, so that none can block.
    package func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw Missing(description: "\(url.path) is not built: \(Self.command)")
        }
        let process = Process()
        process.executableURL = url
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (standardInput, output, errors)
        async let read = Self.readAll(output.fileHandleForReading)
        async let complaint = Self.readAll(errors.fileHandleForReading)
        let ended = Gate()
        process.terminationHandler = { _ in ended.open() }
        try process.start()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let outcome = await (read, complaint)
        await ended.wait()
        return Outcome(
            status: process.terminationStatus,
            output: outcome.0,
            errors: String(decoding: outcome.1, as: UTF8.self)
        )
    }

    private static func readAll(_ handle: FileHandle) async -> Data {
        await withCheckedContinuation { continuation in
            // Reading blocks: not on a thread of the cooperative pool.
            DispatchQueue.global().async { continuation.resume(returning: handle.readDataToEndOfFile()) }
        }
    }

    package struct Missing: Error, CustomStringConvertible { package let description: String }
}
