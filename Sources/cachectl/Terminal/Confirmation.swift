#if Tools
import Diamond
import Foundation

/// A question on the terminal.
enum Confirmation {
    /// Whether somebody can answer: standard input and standard error are terminals.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks a question. Only `y` and `yes` are a yes.
    static func ask(_ question: String) -> Bool {
        try? FileHandle.standardError.write(contentsOf: Data("\(question.printable) [y/N] ".utf8))
        return ["y", "yes"].contains(readLine()?.lowercased())
    }
}
#endif
