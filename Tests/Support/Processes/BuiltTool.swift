package import Foundation

/// An executable of this package, built with the tests, which runs as a process.
package struct BuiltTool: Sendable {
    package struct Outcome: Sendable {
        package var ending: ChildProcess.Ending
        package var output: Data
        package var errors: String
        /// The exit code, or the negative number of the signal that killed it.
        package var status: Int32 {
            switch ending {
            case .exited(let status): status
            case .killed(let signal): -signal
            }
        }
        package var text: String { String(decoding: output, as: UTF8.self) }
    }

    /// The hint for a missing executable.
    package static let command = "swift build --traits default,Tools --build-tests"

    package var url: URL
    package var environment: [String: String] = [:]

    package init(_ name: String) { url = Self.directory.appending(path: name) }

    /// The directory of the products: on Linux that of the test bundle's executable, on Apple systems the bundle's.
    package static var directory: URL {
        var place = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        if let bundle = CommandLine.arguments.first(where: { $0.contains(".xctest") }) {
            place = URL(filePath: bundle.components(separatedBy: ".xctest")[0]).deletingLastPathComponent()
        }
        return place
    }

    /// Runs to the end. Both outputs are read as they arrive, so that neither can block.
    package func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw Missing(description: "\(url.path) is not built: \(Self.command)")
        }
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        let process = try ChildProcess(
            url,
            arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            input: .pipe(standardInput),
            output: .pipe(output),
            errors: .pipe(errors)
        )
        async let read = output.readAll()
        async let complaint = errors.readAll()
        // The process may end without reading its input.
        Self.ignoreBrokenPipes
        try? standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let outcome = await (read, complaint)
        return Outcome(
            ending: await process.ended(),
            output: outcome.0,
            errors: String(decoding: outcome.1, as: UTF8.self)
        )
    }

    // A broken pipe would end the tests.
    private static let ignoreBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    package struct Missing: Error, CustomStringConvertible { package let description: String }
}
