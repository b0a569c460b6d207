import Foundation

/// The output of the program: data on standard output, everything else on standard error.
enum Terminal {
    /// Prints a line of data at once, also into a pipe.
    static func line(_ text: String) { write(printable(text) + "\n", to: .standardOutput) }

    static func notice(_ text: String) { write(printable(text) + "\n", to: .standardError) }

    /// Replaces the line with the progress of a transfer.
    static func progress(_ bytes: Int64, of total: Int64?) {
        write("\r\(bytes) of \(total.map { "\($0)" } ?? "?") bytes", to: .standardError)
    }

    static func endProgress() { write("\n", to: .standardError) }

    static func text(_ duration: Duration) -> String {
        duration.formatted(.units(allowed: [.days, .hours, .minutes, .seconds], width: .narrow))
    }

    /// Removes control characters, with which a server could change the terminal.
    private static func printable(_ text: String) -> String {
        String(text.unicodeScalars.filter { $0 == "\t" || $0.properties.generalCategory != .control })
    }

    private static func write(_ text: String, to file: FileHandle) { try? file.write(contentsOf: Data(text.utf8)) }
}
