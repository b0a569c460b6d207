#if Tools
import Foundation

/// The two streams: results to standard output, everything about them to standard error.
enum Output {
    static func write(_ data: Data) { FileHandle.standardOutput.write(data) }

    static func line(_ text: String) { write(Data((text + "\n").utf8)) }

    static func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    /// One JSON value, keys sorted.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        write(try encoder.encode(value) + Data("\n".utf8))
    }

    /// Columns of the terminal, or `nil` when the output goes elsewhere.
    static var width: Int? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        return size.ws_col > 0 ? Int(size.ws_col) : nil
    }
}
#endif
