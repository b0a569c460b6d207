#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The two streams: results to standard output, everything about them to standard error.
enum Output {
    /// Ends the program when the output is gone: nobody is left to tell more than the reason.
    static func write(_ data: Data) {
        guard !isWritten(data) else { return }
        note(complaint)
        exit(Failure.noOutput.rawValue)
    }

    private static let complaint = "cachectl: the output cannot be written: give it another place"

    /// Writes, for a command that has to finish other work before it ends.
    ///
    /// - Throws: the exit code, if the output is gone.
    static func attempt(_ data: Data) throws {
        guard !isWritten(data) else { return }
        note(complaint)
        throw Failure.noOutput
    }

    static func attempt(json value: some Encodable) throws {
        try attempt(Data((text(of: value, isPretty: true) + "\n").utf8))
    }

    static func line(_ text: String) { write(Data((text + "\n").utf8)) }

    /// For who has to end other things first.
    ///
    /// - Returns: whether it was written.
    static func attempt(line text: String) -> Bool { isWritten(Data((text + "\n").utf8)) }

    private static func isWritten(_ data: Data) -> Bool {
        (try? FileHandle.standardOutput.write(contentsOf: data)) != nil
    }

    static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text.printable + "\n").utf8))
    }

    /// One JSON value, keys sorted.
    static func json(_ value: some Encodable) { line(text(of: value, isPretty: true)) }

    /// One JSON value in a line of its own, keys sorted.
    static func jsonLine(_ value: some Encodable) { line(text(of: value)) }

    static func text(of value: some Encodable, isPretty: Bool = false) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        // Every form is made of text, finite numbers and lists of them: there is no other failure than the output's.
        return (try? encoder.encode(value)).map { escaped(String(decoding: $0, as: UTF8.self)) } ?? ""
    }

    /// JSON has to escape C0 alone; a terminal obeys DEL and C1, too, which stand in strings only.
    private static func escaped(_ json: String) -> String {
        let controls: ClosedRange<UInt32> = 0x7F...0x9F
        guard json.unicodeScalars.contains(where: { controls.contains($0.value) }) else { return json }
        return json.unicodeScalars.reduce(into: "") { text, scalar in
            text += controls.contains(scalar.value) ? "\\u00" + String(scalar.value, radix: 16) : String(scalar)
        }
    }

    /// Rows under their titles, no wider than the terminal.
    static func table(_ table: Table) {
        for row in table.lines(width: width) { line(row.withoutControls) }
    }

    /// Lines of which a part may be anybody's, each as long as it is.
    static func lines(_ text: String) {
        for part in text.split(separator: "\n", omittingEmptySubsequences: false) {
            line(String(part).withoutControls)
        }
    }

    /// Columns of the terminal, or `nil` when the output goes elsewhere.
    static var width: Int? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        return size.ws_col > 0 ? Int(size.ws_col) : nil
    }
}
#endif
