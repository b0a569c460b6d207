import Diamond

/// Bytes as a format of the shell's `printf` (POSIX, XBD section 5), in printable ASCII without `'`.
enum PrintfFormat {
    static func text(of bytes: some Sequence<UInt8>) -> String {
        var format: [UInt8] = []
        for byte in bytes { format += escaped(byte, isFirst: format.isEmpty) }
        return String(decoding: format, as: UTF8.self)
    }

    private static func escaped(_ byte: UInt8, isFirst: Bool) -> [UInt8] {
        switch Unicode.Scalar(byte) {
        case "\n": Array("\\n".utf8)
        case "\\", "%": Array(byte == UInt8(ascii: "%") ? "%%".utf8 : "\\\\".utf8)
        // bash reads a format that begins with `-` as an option.
        case "-" where isFirst: octal(byte)
        // At a prompt `!` expands to a line of the history, also in single quotes within double quotes.
        case "'", "!": octal(byte)
        case " "..."~": [byte]
        default: octal(byte)
        }
    }

    private static func octal(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "\\")] + [byte >> 6, byte >> 3 & 7, byte & 7].map { UInt8(ascii: "0") + $0 }
    }

    /// Returns the bytes that `printf` writes for a format without arguments.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/malformedCurl`` for a conversion, such as `%s`, and for an escape
    ///   that shells read differently, such as `\x41`.
    static func bytes(of format: ShellWord) throws(RequestError) -> [UInt8] {
        var written: [UInt8] = []
        var rest = format.bytes[...]
        while let byte = rest.popFirst() {
            switch Unicode.Scalar(byte) {
            case "\\": written += try escape(&rest, of: format)
            case "%":
                guard rest.popFirst() == byte else { throw format.failure("write '%%' for a '%' in the printf") }
                written.append(byte)
            default: written.append(byte)
            }
        }
        return written
    }

    private static func escape(_ rest: inout ArraySlice<UInt8>, of format: ShellWord) throws(RequestError) -> [UInt8] {
        let digits = rest.prefix(3).prefix { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
        rest = rest.dropFirst(digits.count)
        guard digits.isEmpty else { return [digits.reduce(0) { $0 << 3 | ($1 & 7) }] }
        guard let letter = rest.popFirst() else { return [UInt8(ascii: "\\")] }
        guard let value = EscapeLetters.values[letter] else {
            throw format.failure("shells read an escape of printf differently: write \\ddd in octal, or '\\\\'")
        }
        return [value]
    }
}
