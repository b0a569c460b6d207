#if Tools
import Diamond
import Foundation

/// The alternate screen of the terminal, which leaves the lines above the prompt as they are.
enum Screen {
    /// The alternate screen, without a cursor.
    private static let begin = "\u{1B}[?1049h\u{1B}[?25l"
    private static let end = "\u{1B}[?25h\u{1B}[?1049l"

    /// Whether the output is a terminal that has one.
    static var isPossible: Bool { Output.width != nil && ProcessInfo.processInfo.environment["TERM"] != "dumb" }

    /// Runs a closure that draws on the screen, and restores the terminal.
    static func use(_ body: () async throws -> Void) async throws {
        try write(begin)
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        try? write(end)
        try result.get()
    }

    /// Replaces the lines of the screen.
    static func draw(_ lines: [String]) throws {
        try write("\u{1B}[H" + lines.map { $0.withoutControls + "\u{1B}[K" }.joined(separator: "\n") + "\u{1B}[J")
    }

    private static func write(_ text: String) throws { try Output.body(Data(text.utf8), isRaw: true) }
}
#endif
