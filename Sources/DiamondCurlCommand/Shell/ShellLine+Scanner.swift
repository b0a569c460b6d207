import Diamond

extension ShellLine {
    /// A scanner for the bytes of a command line, which reads quoted text.
    struct Scanner {
        let bytes: [UInt8]
        var index = 0
        private var counted = (index: 0, position: 1)

        init(bytes: [UInt8]) { self.bytes = bytes }

        func peek() -> UInt8? { index < bytes.count ? bytes[index] : nil }

        mutating func next() -> UInt8? {
            guard let byte = peek() else { return nil }
            index += 1
            return byte
        }

        mutating func consume(_ text: StaticString) -> Bool {
            let expected = text.withUTF8Buffer { Array($0) }
            guard bytes[index...].starts(with: expected) else { return false }
            index += expected.count
            return true
        }

        mutating func consumeLineEnd() -> Bool { consume("\n") || consume("\r\n") }

        mutating func singleQuoted() throws(RequestError) -> [UInt8] {
            let start = index
            guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "'")) else {
                throw failure(at: start - 1, "the quote is never closed: add a ' at its end")
            }
            index = end + 1
            return Array(bytes[start..<end])
        }

        mutating func doubleQuoted() throws(RequestError) -> [UInt8] {
            let start = index - 1
            var quoted: [UInt8] = []
            while let byte = next() {
                switch Unicode.Scalar(byte) {
                case "\"": return quoted
                case "$" where consume("(printf '"): quoted += try printed(from: index - 1)
                case "`": throw refusal(of: byte, at: index - 1)
                case "$" where isExpansion: throw refusal(of: byte, at: index - 1)
                case "!" where isHistory(quoted: true): throw refusal(of: byte, at: index - 1)
                case "\\": quoted += escapedInDoubleQuotes()
                default: quoted.append(byte)
                }
            }
            throw failure(at: start, "the quote is never closed: add a \" at its end")
        }

        /// Reads `$(printf '…')`, and returns the bytes that `printf` writes. `curlCommand()` writes control characters
        /// in this form, because a terminal could interpret them as they are.
        private mutating func printed(from start: Int) throws(RequestError) -> [UInt8] {
            let format = ShellWord(bytes: try singleQuoted(), position: nextPosition(at: start))
            guard consume(")") else { throw failure(at: index, "printf has another argument: write a ')' instead") }
            var bytes = try PrintfFormat.bytes(of: format)
            guard !bytes.contains(0) else { throw format.failure("a word cannot contain a NUL: remove it") }
            while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            return bytes
        }

        /// Whether the text after a `$` makes it an expansion.
        private var isExpansion: Bool {
            guard let byte = peek() else { return false }
            return "{([_@*#?$!-".utf8.contains(byte) || Character(Unicode.Scalar(byte)).isShellLetter
        }

        /// Whether the text after a `!` makes it a line of the history at a prompt (bash manual, section 9.3).
        ///
        /// - Parameter isQuoted: whether the `!` is in double quotes, whose end leaves it as it is.
        func isHistory(quoted isQuoted: Bool) -> Bool {
            guard let byte = peek() else { return false }
            return !" \t\r\n=".utf8.contains(byte) && !(isQuoted && byte == UInt8(ascii: "\""))
        }

        private mutating func escapedInDoubleQuotes() -> [UInt8] {
            if consumeLineEnd() { return [] }
            guard let byte = peek(), "$`\"\\".utf8.contains(byte) else { return [UInt8(ascii: "\\")] }
            index += 1
            return [byte]
        }

        // MARK: Positions

        /// Returns the position of an index, in characters from 1.
        func position(at index: Int) -> Int { characters(from: 0, to: index) + 1 }

        /// Returns the position of an index. Counts from the previous index, because a line may have many words.
        mutating func nextPosition(at index: Int) -> Int {
            guard index >= counted.index else { return position(at: index) }
            counted = (index, counted.position + characters(from: counted.index, to: index))
            return counted.position
        }

        private func characters(from start: Int, to end: Int) -> Int {
            String(decoding: bytes[start..<end], as: UTF8.self).unicodeScalars.count
        }

        func failure(at index: Int, _ reason: String) -> RequestError {
            .malformedCurl(at: position(at: index), reason)
        }

        func refusal(of byte: UInt8, at index: Int) -> RequestError {
            failure(at: index, Self.reason(for: byte))
        }

        static func refusal(of byte: UInt8, in word: ShellWord) -> RequestError { word.failure(reason(for: byte)) }

        private static func reason(for byte: UInt8) -> String {
            let character = Character(Unicode.Scalar(byte))
            let remedy =
                switch character {
                case "$": "insert the variable's value, or quote the text with '…' if it is literal"
                case "`": "insert what the command between the backticks writes, or quote it with '…'"
                case "~", "=", "{", "*", "?", "[", "!": "quote the word with '…'"
                default: "quote the word with '…', or remove what does not belong to curl"
                }
            return "a shell would act on '\(character)': \(remedy)"
        }
    }
}

extension Character {
    fileprivate var isShellLetter: Bool { isASCII && (isLetter || isNumber) }
}
