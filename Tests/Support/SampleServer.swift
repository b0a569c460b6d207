package import Foundation

/// The built sample API on a free port of this machine: one for all tests of a process.
///
/// Its standard input is a pipe of this process, and it ends with it, so that none is ever left running.
package actor SampleServer {
    package static let shared = SampleServer()

    private var starting: Task<String, any Error>?

    /// `http://127.0.0.1:PORT`; starts the server where nobody has yet.
    package var base: String {
        get async throws {
            let start = starting ?? Task { try await Self.start() }
            starting = start
            return try await start.value
        }
    }

    private static func start() async throws -> String {
        let url = BuiltTool.sampleAPI
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            let command = "swift build --traits default,Tools --product SampleAPI"
            throw BuiltTool.Missing(description: "\(url.path) is not built: \(command)")
        }
        let process = Process()
        process.executableURL = url
        process.arguments = ["--exit-with-stdin"]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        lifeline = (process, input)
        return try await listening(output.fileHandleForReading)
    }

    /// Kept for as long as this process lives: the pipe's end is the server's.
    nonisolated(unsafe) private static var lifeline: (Process, Pipe)?

    private static func listening(_ output: FileHandle) async throws -> String {
        // The announcement is one short line, written at once; reading it blocks, so not on a cooperative thread.
        let line = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: output.availableData) }
        }
        let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
        guard text.hasPrefix("listening on ") else {
            throw BuiltTool.Missing(description: "the sample API ended before it listened: \(text)")
        }
        return String(text.dropFirst("listening on ".count))
    }
}

extension BuiltTool {
    fileprivate static var sampleAPI: URL {
        let named = ProcessInfo.processInfo.environment["DIAMOND_SAMPLE_API"]
        return named.map { URL(filePath: $0) } ?? directory.appending(path: "SampleAPI")
    }
}
