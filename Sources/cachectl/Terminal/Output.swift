#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The two streams: results to standard output, everything about them to standard error.
enum Output {
    /// Ends the program when the output is gone: nobody is left to tell more than the reason.
    static func write(_ data: Data) {
        do {
            try FileHandle.standardOutput.write(contentsOf: data)
        } catch {
            note("cachectl: the output cannot be written: give it another place")
            exit(Failure.noOutput.rawValue)
        }
    }

    static func line(_ text: String) { write(Data((text + "\n").utf8)) }

    static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text.printable + "\n").utf8))
    }

    /// One JSON value, keys sorted.
    static func json(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        // Every form is made of text, finite numbers and lists of them: there is no other failure than the output's.
        if let data = try? encoder.encode(value) { write(data + Data("\n".utf8)) }
    }

    /// Columns of the terminal, or `nil` when the output goes elsewhere.
    static var width: Int? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        return size.ws_col > 0 ? Int(size.ws_col) : nil
    }
}
#endif
