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

    /// - Throws: `other` where the editor does not end well; then nothing is to be changed.
    func edit(_ text: String) throws(ReplayError) -> Data {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json").path
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw ReplayError(.other, "\(path) cannot be written: make its directory writable, or give a file") }
        defer { try? FileManager.default.removeItem(atPath: path) }
        // Not Foundation's Process: its children are in a group of their own, which may not use the terminal.
        guard system("\(command) \(path.shellWord)") == 0 else {
            throw ReplayError(
                .other, "'\(command)' did not end well, and nothing was changed: set EDITOR, or give a file")
        }
        guard let edited = FileManager.default.contents(atPath: path) else {
            throw ReplayError(.other, "'\(command)' has left no text, and nothing was changed: give a file")
        }
        return edited
    }
}
#endif
