#if Tools
import Diamond
import Foundation

/// The editor that a person has chosen, run on a text in a file that only they may read.
struct Editor {
    private let command: String

    init() {
        let environment = ProcessInfo.processInfo.environment
        let chosen = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.isEmpty }
        command = chosen ?? "vi"
    }

    /// - Parameter use: gets the edited text. Where it throws, the file is kept, and the error names it: what somebody has
    ///   written is not to be written again.
    /// - Throws: `wrongState` where the editor does not end well; then nothing is to be changed.
    func edit<Value>(
        _ text: String,
        _ use: (Data) async throws(ReplayError) -> Value
    ) async throws(ReplayError) -> Value {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json").path
        let edited = try run(on: path, text)
        do throws(ReplayError) {
            let value = try await use(edited)
            try? FileManager.default.removeItem(atPath: path)
            return value
        } catch {
            throw ReplayError(error.code, "\(error.message); your text is in \(path)")
        }
    }

    private func run(on path: String, _ text: String) throws(ReplayError) -> Data {
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw ReplayError(.other, "\(path) cannot be written: make its directory writable, or give a file") }
        // Not Foundation's Process: its children are in a group of their own, which may not use the terminal.
        guard Self.runs("\(command) \(path.shellWord)") else {
            try? FileManager.default.removeItem(atPath: path)
            throw ReplayError(
                .wrongState, "'\(command)' did not end well, and nothing was changed: set EDITOR, or give a file")
        }
        guard let edited = FileManager.default.contents(atPath: path) else {
            throw ReplayError(.other, "'\(command)' has left no text, and nothing was changed: give a file")
        }
        return edited
    }

    #if canImport(Darwin)
    // What `system` does, which is not to be had from Swift there.
    private static func runs(_ line: String) -> Bool {
        var arguments = ["sh", "-c", line].map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        // What is typed is for the editor.
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
