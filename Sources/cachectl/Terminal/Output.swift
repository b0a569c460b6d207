#if Tools
import ArgumentParser
import Diamond
import Foundation

/// Writes results to standard output, and messages to standard error.
enum Output {
    /// Writes a line. Escapes control characters, because the text may come from a server.
    static func line(_ text: String) { write(text.withoutControls + "\n") }

    /// Writes lines, each as ``line(_:)`` does.
    static func lines(_ text: String) { for part in parts(of: text) { line(part) } }

    /// Writes a line. Unlike ``line(_:)``, does not end the program if the output is closed.
    ///
    /// - Returns: Whether the line was written.
    static func attempt(line text: String) -> Bool { failure(of: Data((text.withoutControls + "\n").utf8)) == nil }

    /// Writes lines, without ending the program if the output is closed.
    ///
    /// - Throws: The exit code, if the output is closed.
    static func attempt(lines: [String]) throws {
        try attempt(Data(lines.map { $0.withoutControls + "\n" }.joined().utf8))
    }

    /// Writes a JSON value, without ending the program if the output is closed.
    ///
    /// - Parameter isLine: Whether it is one of several values, each in a line.
    /// - Throws: The exit code, if the output is closed.
    static func attempt(json value: some Encodable, isLine: Bool) throws {
        try attempt(Data((text(of: value, isPretty: !isLine) + "\n").utf8))
    }

    /// Writes a message of one line.
    static func note(_ text: String) { writeMessage(text.printable) }

    /// Writes a message of several lines.
    static func notes(_ text: String) { for part in parts(of: text) { writeMessage(part.withoutControls) } }

    private static func parts(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Writes a body byte for byte. On a terminal, writes only text, indents JSON, and escapes control characters.
    ///
    /// - Parameter isRaw: Whether to write the bytes unchanged to a terminal, too.
    /// - Throws: The exit code, if the output is closed.
    static func body(_ body: Data, isRaw: Bool) throws {
        guard isTerminal, !isRaw else { return try attempt(body) }
        guard let text = String(validating: body, as: UTF8.self) else {
            return note("cachectl: the body is not text: give --raw, or send the output to a file")
        }
        let lines = parts(of: (JSONLayout.indented(text) ?? text).replacing("\r\n", with: "\n")).map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).withoutControls }
                .joined(separator: "\t")
        }
        let shown = lines.joined(separator: "\n")
        // The shell's prompt starts on a new line.
        try attempt(Data((shown.isEmpty || shown.hasSuffix("\n") ? shown : shown + "\n").utf8))
    }

    /// Writes a JSON value with sorted keys.
    static func json(_ value: some Encodable) { write(text(of: value, isPretty: true) + "\n") }

    /// Writes a JSON value, or a line.
    static func result(_ form: JSONObject, or text: String, isJSON: Bool) { isJSON ? json(form) : line(text) }

    /// Writes a JSON value with sorted keys as one line.
    static func jsonLine(_ value: some Encodable) { write(text(of: value) + "\n") }

    private static let lineEncoder = encoder([])
    private static let prettyEncoder = encoder(.prettyPrinted)

    private static func encoder(_ formatting: JSONEncoder.OutputFormatting) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        return encoder
    }

    static func text(of value: some Encodable, isPretty: Bool = false) -> String {
        let encoder = isPretty ? prettyEncoder : lineEncoder
        // Encoding cannot fail: all values are texts, finite numbers and containers of them.
        return (try? encoder.encode(value)).map { escaped(String(decoding: $0, as: UTF8.self)) } ?? ""
    }

    /// Escapes the control characters that JSON allows in strings, because terminals act on them.
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

    /// Writes a table, cut to the width of the terminal.
    static func table(_ table: Table) { for row in table.lines(width: width) { line(row) } }

    // MARK: The streams

    /// Writes to standard output. Ends the program if it is closed.
    private static func write(_ text: String) {
        guard let failure = failure(of: Data(text.utf8)) else { return }
        report(failure)
        Progress.remove()
        exit(failure.rawValue)
    }

    private static func attempt(_ data: Data) throws {
        guard let failure = failure(of: data) else { return }
        report(failure)
        throw failure
    }

    /// Prints a message, except about a pipe whose reader has read enough.
    private static func report(_ failure: ExitCode) {
        guard failure != Failure.closedPipe else { return }
        note("cachectl: the output cannot be written: send it elsewhere")
    }

    /// Writes bytes to standard output.
    ///
    /// - Returns: the exit code if that fails; otherwise `nil`.
    private static func failure(of data: Data) -> ExitCode? {
        if isTerminal { Progress.remove() }
        do {
            try FileHandle.standardOutput.write(contentsOf: data)
            return nil
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            return cause?.code == Int(EPIPE) ? Failure.closedPipe : Failure.noOutput
        }
    }

    private static func writeMessage(_ text: String) {
        Progress.remove()
        message(raw: text + "\n")
    }

    /// Writes to standard error, without escapes.
    static func message(raw text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }

    private static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The number of columns of the terminal; `nil` if the output is not a terminal.
    static var width: Int? { size(of: STDOUT_FILENO, \.ws_col) }

    /// The number of lines of the terminal; `nil` if the output is not a terminal.
    static var height: Int? { size(of: STDOUT_FILENO, \.ws_row) }

    /// The number of columns of the terminal that shows messages; `nil` if none does.
    static var messageWidth: Int? { size(of: STDERR_FILENO, \.ws_col) }

    private static func size(of descriptor: Int32, _ dimension: KeyPath<winsize, UInt16>) -> Int? {
        var size = winsize()
        guard isatty(descriptor) == 1, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        return size[keyPath: dimension] > 0 ? Int(size[keyPath: dimension]) : nil
    }
}
#endif
