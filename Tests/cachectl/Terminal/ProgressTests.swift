import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The progress of cachectl", .limit(minutes: 2)) struct ProgressTests {
    private let cachectl = Shell()

    /// Erases a line of the terminal.
    private let removal = "\r\u{1B}[K"

    private static let commands = [
        ["verify"], ["export", "--har"], ["import"], ["queue", "export"], ["queue", "replay"],
    ]

    private func run(_ arguments: [String], columns: UInt16 = 80) async throws -> String {
        let output = Pipe()
        let archive = try cachectl.file("empty.har", #"{"log":{"entries":[]}}"#)
        let words = arguments.first == "import" ? ["import", archive] + arguments.dropFirst() : arguments
        async let read = output.readAll()
        let shown = try await cachectl.tool().runOnTerminal(words, columns: columns, output: output)
        #expect(shown.ending == .exited(0), "\(arguments): \(shown.text)")
        _ = await read
        return shown.text
    }

    private func fill() async throws {
        try await cachectl.store([StoredEntry(url: "http://127.0.0.1:9/"), StoredEntry(url: "http://127.0.0.1:9/2")])
        // A job that is not sent now.
        var request = Request("http://127.0.0.1:9/", method: .post)
        request.replay = ReplayPolicy(.durable)
        _ = try await cachectl.queue().enqueue(request, after: .seconds(3600))
    }

    @Test(arguments: commands) func `is drawn on a terminal for messages, and removed at the end`(
        command: [String]
    ) async throws {
        try await fill()
        let text = try await run(command)
        #expect(text.hasPrefix("\r") && text.contains(/(entries|exchanges|jobs)\x1B\[K/) && text.hasSuffix(removal))
    }

    @Test(arguments: commands) func `is not drawn with --quiet, with --json, or without a terminal`(
        command: [String]
    ) async throws {
        try await fill()
        for option in ["--quiet", "--json"] { #expect(try await run(command + [option]).isEmpty) }
        guard command != ["import"] else { return }
        #expect(try await !cachectl(command).errors.contains("\r"))
    }

    @Test func `is not drawn on a terminal that cannot erase a line`() async throws {
        try await fill()
        let output = Pipe()
        async let read = output.readAll()
        let shown = try await cachectl.tool(["TERM": "dumb"]).runOnTerminal(["verify"], columns: 80, output: output)
        #expect(shown.ending == .exited(0) && shown.text.isEmpty, "\(shown.text)")
        _ = await read
    }

    @Test func `fits a narrow terminal`() async throws {
        try await fill()
        let drawn = try await run(["export", "--har"], columns: 12).split(separator: "\u{1B}[K").map { $0.dropFirst() }
        #expect(drawn.contains { $0.count == 11 } && drawn.allSatisfy { $0.count < 12 })
    }

    @Test func `is removed by Ctrl-C, which ends the program`() async throws {
        let body = Data(String(repeating: "a", count: 100_000).utf8)
        try await cachectl.store((0..<5).map { StoredEntry(url: "http://127.0.0.1:9/\($0)", body: body) })
        let output = Pipe()
        let command = ["export", "--har"]
        let shown = try await cachectl.tool().runOnTerminal(command, columns: 80, output: output) { process in
            // The beginning of the archive and an entry. The next ones fill the pipe.
            for _ in 0..<2 { _ = await output.firstLine() }
            process.kill(SIGINT)
        }
        #expect(shown.ending == .killed(by: SIGINT))
        #expect(shown.text.contains("of 5 entries") && shown.text.hasSuffix(removal))
    }
}
