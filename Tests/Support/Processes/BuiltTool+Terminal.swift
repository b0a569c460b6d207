import CSpawn
import DiamondSQLite
package import Foundation

extension BuiltTool {
    package struct NoTerminal: Error {}

    /// The terminal of a running process.
    package struct Terminal: Sendable {
        fileprivate let descriptor: Int32
        fileprivate let shown = Guarded(Data())

        /// The text that was sent to the terminal.
        package var text: String {
            String(decoding: shown.withLock { $0 }, as: UTF8.self).replacing("\r\n", with: "\n")
        }

        package func resize(columns: UInt16, rows: UInt16 = 24) {
            var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
        }
    }

    /// Runs to the end with a terminal as its output, or for its messages.
    ///
    /// - Parameters:
    ///   - columns: the width of the terminal; `nil` if it has none.
    ///   - pipe: the output, if the terminal is for messages.
    ///   - whileRunning: called after the start.
    /// - Returns: the text sent to the terminal.
    package func runOnTerminal(
        _ arguments: [String], columns: UInt16? = nil, output pipe: Pipe? = nil,
        whileRunning: (ChildProcess) async -> Void = { _ in }
    ) async throws -> (ending: ChildProcess.Ending, text: String) {
        try await runOnTerminal(arguments, columns: columns, output: pipe) { process, _ in await whileRunning(process) }
    }

    /// Does the same for a test that looks at the terminal, or changes its size, while the process runs.
    package func runOnTerminal(
        _ arguments: [String], columns: UInt16? = nil, output pipe: Pipe? = nil,
        whileRunning: (ChildProcess, Terminal) async -> Void
    ) async throws -> (ending: ChildProcess.Ending, text: String) {
        var side: Int32 = -1
        let terminal = Terminal(descriptor: spawn_terminal(&side))
        guard terminal.descriptor >= 0 else { throw NoTerminal() }
        if let columns { terminal.resize(columns: columns) }
        let shown = ChildProcess.Stream.file(FileHandle(fileDescriptor: side, closeOnDealloc: true))
        let process = try ChildProcess(
            url, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            output: pipe.map { .pipe($0) } ?? shown, errors: pipe == nil ? .null : shown)
        async let end: Void = Self.read(terminal)
        await whileRunning(process, terminal)
        await end
        close(terminal.descriptor)
        return (await process.ended(), terminal.text)
    }

    /// Reads until the other side is closed, which `read` reports as an error on Linux.
    private static func read(_ terminal: Terminal) async {
        await withCheckedContinuation { continuation in
            // Reading blocks: not on a thread of any pool.
            Thread.detachNewThread {
                var buffer = [UInt8](repeating: 0, count: 4096)
                while case let count = Foundation.read(terminal.descriptor, &buffer, buffer.count), count > 0 {
                    terminal.shown.withLock { $0 += buffer[..<count] }
                }
                continuation.resume()
            }
        }
    }
}
