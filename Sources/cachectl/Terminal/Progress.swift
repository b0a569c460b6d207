#if Tools
import ArgumentParser
import DiamondSQLite
import Foundation

/// A line on standard error that says how far a command is. It is drawn only on a terminal that can erase a line (not
/// on one with `TERM=dumb`), and removed at the end, by SIGINT or SIGTERM, and before other output.
struct Progress {
    private struct Line {
        /// The name of the counted things, such as `entries`.
        var unit: String
        /// The number that is expected at the end, if it is known.
        var total: Int?
        var count = 0
        var isDrawn = false
        var drawnAt = ContinuousClock.now
    }

    private static let line = Guarded<Line?>(nil)
    private static let interval = Duration.milliseconds(100)
    private static let barWidth = 24

    private let interruptions: [Interruption]

    /// - Parameters:
    ///   - unit: the name of the counted things, such as `entries`.
    ///   - total: the number that is expected at the end; `nil` if it is unknown.
    ///   - isQuiet: whether nothing is drawn, also on a terminal.
    ///   - endsAtSignal: whether the line removes itself at a signal, and the signal then ends the program.
    init(_ unit: String, of total: Int? = nil, isQuiet: Bool, endsAtSignal: Bool = true) {
        guard !isQuiet, Output.messageWidth != nil, ProcessInfo.processInfo.environment["TERM"] != "dumb" else {
            interruptions = []
            return
        }
        interruptions = (endsAtSignal ? [SIGINT, SIGTERM] : []).map { number in
            Interruption(at: [number]) {
                Self.end()
                Self.endProgram(by: number)
            }
        }
        Self.line.withLock {
            var line = Line(unit: unit, total: total)
            Self.draw(&line)
            $0 = line
        }
    }

    /// Draws the line again, at most ten times in a second.
    static func update(_ count: Int, of total: Int? = nil) {
        line.withLock { current in
            guard var line = current else { return }
            line.count = count
            line.total = total ?? line.total
            if ContinuousClock.now - line.drawnAt >= interval { draw(&line) }
            current = line
        }
    }

    /// Removes the line for good.
    func end() {
        Self.end()
        for interruption in interruptions { interruption.end() }
    }

    private static func end() {
        remove()
        line.withLock { $0 = nil }
    }

    static func endProgram(by number: Int32) {
        signal(number, SIG_DFL)
        // The threads that wait for signals block them.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
    }

    /// Removes the line until the next update, because something else is written.
    static func remove() {
        line.withLock { line in
            guard line?.isDrawn == true else { return }
            line?.isDrawn = false
            Output.message(raw: "\r\u{1B}[K")
        }
    }

    /// The width is read each time, because it may have changed.
    private static func draw(_ line: inout Line) {
        line.isDrawn = true
        line.drawnAt = .now
        // A full line would wrap.
        let text = text(of: line).prefix(max(0, (Output.messageWidth ?? 80) - 1))
        Output.message(raw: "\r\(text)\u{1B}[K")
    }

    private static func text(of line: Line) -> String {
        guard let total = line.total, total > 0 else { return "\(line.count) \(line.unit)" }
        let part = min(line.count, total)
        let bar = String(repeating: "#", count: barWidth * part / total)
        let space = String(repeating: " ", count: barWidth - bar.count)
        return "[\(bar)\(space)] \(100 * part / total) %, \(line.count) of \(max(total, line.count)) \(line.unit)"
    }
}

extension ArgumentHelp {
    static let quiet = ArgumentHelp("Print no progress on a terminal.")
}
#endif
