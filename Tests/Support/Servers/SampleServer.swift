import Foundation

/// The sample API as a child process, on a free port of this machine.
///
/// One runs for the whole test process; a test that stops its server starts another. A server ends when its standard
/// input does, so that it never outlives the tests, however they end.
package final class SampleServer: Sendable {
    /// `http://127.0.0.1:PORT`
    package let base: String
    /// Its port, for ``another(port:)`` after ``stop()``.
    package var port: Int { URL(string: base)?.port ?? 0 }

    // Retained for the pipe: the server runs until the pipe's writing end is closed.
    private let input: FileHandle
    private let process: ChildProcess

    private static let started = Task.detached { try SampleServer(executable: executable()) }

    /// Starts the server with the first call.
    package static var shared: SampleServer {
        get async throws { try await started.value }
    }

    /// Returns the URL of a route: `url("wire/status/204")`.
    package func url(_ path: String) -> String { "\(base)/\(path)" }

    /// Starts another server.
    ///
    /// - Parameter port: its port; 0 for a free one.
    package static func another(port: Int = 0) async throws -> SampleServer {
        try await Task.detached { try SampleServer(executable: executable(), port: port) }.value
    }

    /// Kills the server, and returns when its port is free.
    package func stop() async {
        process.kill()
        _ = await process.ended()
    }

    private init(executable: URL, port: Int = 0) throws {
        let (input, output) = (Pipe(), Pipe())
        let arguments = ["--exit-with-stdin", "--port", "\(port)"]
        process = try ChildProcess(executable, arguments, input: .pipe(input), output: .pipe(output))
        self.input = input.fileHandleForWriting
        base = try Self.announcement(on: output.fileHandleForReading)
    }

    /// Returns the server's only line of output, without `listening on `.
    private static func announcement(on output: FileHandle) throws -> String {
        var line = ""
        while !line.hasSuffix("\n") {
            let piece = output.availableData
            guard !piece.isEmpty else { throw SampleServerError("the sample API ended before it listened") }
            line += String(decoding: piece, as: UTF8.self)
        }
        return line.replacing("listening on ", with: "").trimmingCharacters(in: .newlines)
    }

    /// Returns the executable that was built with the tests; `DIAMOND_SAMPLE_API` names another.
    private static func executable() throws -> URL {
        let named = ProcessInfo.processInfo.environment["DIAMOND_SAMPLE_API"].map { URL(filePath: $0) }
        let executable = named ?? BuiltTool("SampleAPI").url
        guard FileManager.default.isExecutableFile(atPath: executable.path) else {
            throw SampleServerError("\(executable.path) is not built: \(BuiltTool.command)")
        }
        return executable
    }
}

struct SampleServerError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
