#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The two streams: results to standard output, everything about them to standard error.
enum Output {
    /// One line. A part of it may be anybody's: what a terminal would act on is escaped.
    static func line(_ text: String) { write(text.withoutControls + "\n") }

    /// Lines, each as ``line(_:)``.
    static func lines(_ text: String) { for part in parts(of: text) { line(part) } }

    /// One line, for who has to end other things first.
    ///
    /// - Returns: whether it was written.
    static func attempt(line text: String) -> Bool { isWritten(Data((text.withoutControls + "\n").utf8)) }

    /// One JSON value, for a command that has to finish other work before it ends.
    ///
    /// - Throws: the exit code, if the output is gone.
    static func attempt(json value: some Encodable) throws {
        try attempt(Data((text(of: value, isPretty: true) + "\n").utf8))
    }

    /// One line about the results.
    static func note(_ text: String) { complain(text.printable) }

    /// Lines about the results, as long as they are.
    static func notes(_ text: String) { for part in parts(of: text) { complain(part.withoutControls) } }

    private static func parts(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// A body: byte for byte, but on a terminal with what that would act on escaped, and there only where it is text.
    ///
    /// - Parameter isRaw: whether a terminal gets the bytes, too.
    /// - Throws: the exit code, if the output is gone.
    static func body(_ body: Data, isRaw: Bool) throws {
        guard isTerminal, !isRaw else { return try attempt(body) }
        guard let text = String(validating: body, as: UTF8.self) else {
            return note("cachectl: the body is no text: give --raw, or send the output to a file")
        }
        let lines = parts(of: text.replacing("\r\n", with: "\n")).map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).withoutControls }
                .joined(separator: "\t")
        }
        let shown = lines.joined(separator: "\n")
        // A person's prompt begins on a line of its own.
        try attempt(Data((shown.isEmpty || shown.hasSuffix("\n") ? shown : shown + "\n").utf8))
    }

    /// One JSON value, keys sorted.
    static func json(_ value: some Encodable) { write(text(of: value, isPretty: true) + "\n") }

    /// One JSON value in a line of its own, keys sorted.
    static func jsonLine(_ value: some Encodable) { write(text(of: value) + "\n") }

    static func text(of value: some Encodable, isPretty: Bool = false) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        // Every form is made of text, finite numbers and lists of them: there is no other failure than the output's.
        return (try? encoder.encode(value)).map { escaped(String(decoding: $0, as: UTF8.self)) } ?? ""
    }

    /// JSON has to escape C0 alone; a terminal acts on others, too, which stand in strings only.
    private static func escaped(_ json: String) -> String {
        func isPlain(_ scalar: Unicode.Scalar) -> Bool { scalar == "\n" || scalar.isPrintable }
        guard !json.unicodeScalars.allSatisfy(isPlain) else { return json }
        return json.unicodeScalars.reduce(into: "") { text, scalar in
            guard !isPlain(scalar) else { return text.unicodeScalars.append(scalar) }
            for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }

    /// Rows under their titles, no wider than the terminal.
    static func table(_ table: Table) { for row in table.lines(width: width) { line(row) } }

    // MARK: The streams

    /// Ends the program when the output is gone: nobody is left to tell more than the reason.
    private static func write(_ text: String) {
        guard !isWritten(Data(text.utf8)) else { return }
        note(complaint)
        exit(Failure.noOutput.rawValue)
    }

    private static func attempt(_ data: Data) throws {
        guard !isWritten(data) else { return }
        note(complaint)
        throw Failure.noOutput
    }

    private static let complaint = "cachectl: the output cannot be written: give it another place"

    private static func isWritten(_ data: Data) -> Bool {
        (try? FileHandle.standardOutput.write(contentsOf: data)) != nil
    }

    private static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }

    private static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Columns of the terminal, or `nil` when the output goes elsewhere.
    static var width: Int? {
        var size = winsize()
        guard isTerminal, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        return size.ws_col > 0 ? Int(size.ws_col) : nil
    }
}
#endif
