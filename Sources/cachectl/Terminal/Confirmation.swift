#if Tools
import Diamond
import Foundation

/// A question on the terminal.
enum Confirmation {
    /// Whether somebody can answer: standard input and standard error are terminals.
    private static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks whether to apply a verb to jobs. Throws exit code 64 if nobody can be asked, and 1 if the answer is no.
    static func require(_ verb: String, count: Int, isJSON: Bool) throws {
        guard !isJSON, isPossible else {
            let jobs = count == 1 ? "1 job matches" : "\(count) jobs match"
            throw Failure.report(
                Failure.usage, "\(jobs): give --yes to \(verb) all that match, or --dry-run to see which")
        }
        guard ask("\(verb) \(Quantity.jobs(count))?") else {
            throw Failure.report(Failure.wrongState, "nothing was changed")
        }
    }

    /// Asks a question. Only `y` and `yes` are a yes.
    private static func ask(_ question: String) -> Bool {
        try? FileHandle.standardError.write(contentsOf: Data("\(question.printable) [y/N] ".utf8))
        return ["y", "yes"].contains(readLine()?.lowercased())
    }
}
#endif
