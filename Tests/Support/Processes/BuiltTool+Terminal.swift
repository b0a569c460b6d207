import CSpawn
import Foundation

extension BuiltTool {
    package struct NoTerminal: Error {}

    /// Runs to the end with a terminal as its output.
    ///
    /// - Returns: the text sent to the terminal.
    package func runOnTerminal(_ arguments: [String]) async throws -> (ending: ChildProcess.Ending, text: String) {
        var output: Int32 = -1
        let terminal = spawn_terminal(&output)
        guard terminal >= 0 else { throw NoTerminal() }
        let process = try ChildProcess(
            url, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            output: .file(FileHandle(fileDescriptor: output, closeOnDealloc: true)), errors: .null)
        let data = await Self.read(terminal)
        close(terminal)
        let text = String(decoding: data, as: UTF8.self).replacing("\r\n", with: "\n")
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
