import CSpawn
package import Foundation

extension BuiltTool {
    package struct NoTerminal: Error {}

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
        var side: Int32 = -1
        let terminal = spawn_terminal(&side)
        guard terminal >= 0 else { throw NoTerminal() }
        if let columns {
            var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
        }
        let shown = ChildProcess.Stream.file(FileHandle(fileDescriptor: side, closeOnDealloc: true))
        let process = try ChildProcess(
            url, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            output: pipe.map { .pipe($0) } ?? shown, errors: pipe == nil ? .null : shown)
        async let data = Self.read(terminal)
        await whileRunning(process)
        let text = String(decoding: await data, as: UTF8.self).replacing("\r\n", with: "\n")
        close(terminal)
        return (await process.ended(), text)
    }

    /// Reads until the other side is closed, which `read` reports as an error on Linux.
    private static func read(_ terminal: Int32) async -> Data {
        await withCheckedContinuation { continuation in
            // Reading blocks: not on a thread of any pool.
            Thread.detachNewThread {
                var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 4096))
                while case let count = Foundation.read(terminal, &buffer, buffer.count), count > 0 {
                    data += buffer[..<count]
                }
                continuation.resume(returning: data)
            }
        }
    }
}
