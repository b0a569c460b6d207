#if Tools
import Diamond
import Foundation

/// The editor of `VISUAL` or `EDITOR`, run on a temporary file that only the user can read.
struct Editor {
    private let command: String

    init() {
        let environment = ProcessInfo.processInfo.environment
        let chosen = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.isEmpty }
        command = chosen ?? "vi"
    }

    /// Opens a text in the editor and passes the edited text to a closure.
    ///
    /// - Parameter use: Receives the edited text. If it throws, the file is kept and the error names it.
    /// - Throws: `wrongState` if the editor fails.
    func edit<Value>(
        _ text: String,
        use: (Data) async throws(ReplayError) -> Value
    ) async throws(ReplayError) -> Value {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json").path
        let edited = try run(on: path, text: text)
        do throws(ReplayError) {
            let value = try await use(edited)
            try? FileManager.default.removeItem(atPath: path)
            return value
        } catch {
            throw ReplayError(error.code, "\(error.message); your text is in \(path)")
        }
    }

    private func run(on path: String, text: String) throws(ReplayError) -> Data {
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw ReplayError(.other, "\(path) cannot be written: make its directory writable, or give a file") }
        // Foundation's Process puts the child in a process group of its own, which may not use the terminal.
        guard Self.runs("\(command) \(path.shellWord)") else {
            try? FileManager.default.removeItem(atPath: path)
            throw ReplayError(
                .wrongState, "'\(command)' failed, and nothing was changed: set EDITOR, or give a file")
        }
        guard let edited = FileManager.default.contents(atPath: path) else {
            throw ReplayError(.other, "'\(command)' left no file, and nothing was changed: give a file")
        }
        return edited
    }

    #if canImport(Darwin)
    // Does what `system` does, which is unavailable from Swift on Darwin.
    private static func runs(_ line: String) -> Bool {
        var arguments = ["sh", "-c", line].map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        // Ctrl-C and Ctrl-\ are for the editor.
        let handlers = [SIGINT, SIGQUIT].map { (number: $0, handler: signal($0, SIG_IGN)) }
        defer { for (number, handler) in handlers { signal(number, handler) } }
        var child = pid_t()
        guard posix_spawn(&child, "/bin/sh", nil, nil, arguments, _NSGetEnviron().pointee) == 0 else { return false }
        var status: Int32 = -1
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }
    #else
    private static func runs(_ line: String) -> Bool { system(line) == 0 }
    #endif
}
#endif
