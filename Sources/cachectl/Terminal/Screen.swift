#if Tools
import Diamond
import DiamondSQLite
import Foundation

/// The alternate screen of the terminal, which leaves the lines above the prompt as they are.
enum Screen {
    /// The alternate screen, without a cursor.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
    private static let end = "\u{1B}[?25h\u{1B}[?1049l"
    private static let isShown = Guarded(false)

    /// Whether the output is a terminal that has one.
    static var isPossible: Bool { Output.width != nil && ProcessInfo.processInfo.environment["TERM"] != "dumb" }

    /// Runs a closure that draws on the screen, in a task that the first Ctrl-C cancels. Restores the terminal at the
    /// end, at a signal even if the closure does not end, and while Ctrl-Z stops the program.
    static func use(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let (start, starter) = AsyncStream.makeStream(of: Void.self)
        let drawing = Task {
            for await _ in start {}
            try await body()
        }
        let interruptions = [
            Interruption(at: [SIGINT, SIGTERM, SIGHUP, SIGQUIT]) {
                hide()
                drawing.cancel()
            },
            Interruption(at: [SIGTSTP], suspend),
        ]
        defer { for interruption in interruptions { interruption.end() } }
        try show()
        defer { hide() }
        starter.finish()
        try await drawing.value
    }

    /// Replaces the lines of the screen.
    static func draw(_ lines: [String]) throws {
        let lines = lines.map { $0.withoutControls + "\u{1B}[K" }.joined(separator: "\n")
        try isShown.withLock { if $0 { try write("\u{1B}[H" + lines + "\u{1B}[J") } }
    }

    private static func show() throws {
        try isShown.withLock {
            try write(enter)
            $0 = true
        }
    }

    private static func hide() {
        isShown.withLock {
            if $0 { try? write(end) }
            $0 = false
        }
    }

    /// Stops the program until SIGCONT. The lines are drawn again at the next draw.
    private static func suspend() {
        isShown.withLock {
            guard $0 else { return }
            try? write(end)
            // Stops this thread before it continues, unlike a signal to the process.
            raise(SIGSTOP)
            try? write(enter)
        }
    }

    private static func write(_ text: String) throws { try Output.body(Data(text.utf8), isRaw: true) }
}
#endif
