import Diamond

/// A shell's command line, split into words: POSIX quoting (XCU section 2.2), and the `$'…'` of bash.
///
/// It refuses everything else that the shell would interpret (variables, substitutions, pipes, redirections, comments,
/// a second command, ``ShellExpansion``, lines of the history), with two exceptions for bytes that are not plain text:
/// the pipe `printf '…' | command`, and the substitution `"$(printf '…')"`.
struct ShellLine {
    private(set) var words: [ShellWord] = []
    /// The bytes that `printf` pipes into the command.
    private(set) var input: [UInt8]?
    var scanner: Scanner
    /// The word being read; `nil` between words.
    private var word: ShellWord?
    /// Whether each byte of the word is quoted or escaped.
    private var isQuoted: [Bool] = []

    /// - Throws: ``RequestError/Code-swift.struct/malformedCurl`` with the position and the remedy.
    init(_ text: String) throws(RequestError) {
        scanner = Scanner(bytes: Array(text.utf8))
        while let byte = scanner.peek() { try read(byte) }
        try endWord()
    }

    /// The position of the text's end, for errors about missing text.
    var end: Int { scanner.position(at: scanner.index) }

    private mutating func read(_ byte: UInt8) throws(RequestError) {
        let start = scanner.index
        scanner.index += 1
        switch Unicode.Scalar(byte) {
        case " ", "\t": try endWord()
        case "\r", "\n": try endLine()
        case "'": append(try scanner.singleQuoted(), from: start)
        case "\"": append(try scanner.doubleQuoted(), from: start)
        case "$" where scanner.consume("'"): append(try scanner.dollarQuoted(), from: start)
        case "\\": try escape(from: start)
        case "!" where scanner.isHistory(quoted: false): throw scanner.refusal(of: byte, at: start)
        case "|": try pipe(from: start)
        case "#" where word == nil: throw scanner.failure(at: start, "this is a comment: remove it, or quote the '#'")
        case "$", "`", ";", ">", "<", "&", "(", ")": throw scanner.refusal(of: byte, at: start)
        default: append([byte], from: start, isQuoted: false)
        }
    }

    private mutating func append(_ bytes: [UInt8], from start: Int, isQuoted: Bool = true) {
        if word == nil { word = ShellWord(bytes: [], position: scanner.nextPosition(at: start)) }
        word?.bytes += bytes
        self.isQuoted += repeatElement(isQuoted, count: bytes.count)
    }

    private mutating func endWord() throws(RequestError) {
        guard let word else { return }
        if let byte = ShellExpansion(word, isQuoted: isQuoted).start { throw Scanner.refusal(of: byte, in: word) }
        words.append(word)
        self.word = nil
        isQuoted = []
    }

    private mutating func escape(from start: Int) throws(RequestError) {
        if scanner.consumeLineEnd() { return }
        guard let byte = scanner.next() else { throw scanner.failure(at: start, "nothing follows the '\\': remove it") }
        append([byte], from: start)
    }

    private mutating func endLine() throws(RequestError) {
        try endWord()
        let blanks = Set(" \t\r\n".utf8)
        while let byte = scanner.peek(), blanks.contains(byte) { scanner.index += 1 }
        guard !words.isEmpty, scanner.peek() != nil else { return }
        throw scanner.failure(at: scanner.index, "this is a second command: end each line but the last with '\\'")
    }

    private mutating func pipe(from start: Int) throws(RequestError) {
        try endWord()
        guard input == nil, words.count == 2, words[0].bytes.elementsEqual("printf".utf8) else {
            throw scanner.refusal(of: UInt8(ascii: "|"), at: start)
        }
        input = try PrintfFormat.bytes(of: words[1])
        words = []
    }
}

/// A word of a shell's command line, without its quotes.
struct ShellWord: Hashable {
    var bytes: [UInt8]
    /// The position of its start, in characters from 1.
    var position: Int

    /// - Throws: ``RequestError/Code-swift.struct/malformedCurl`` for bytes that are not UTF-8.
    func text() throws(RequestError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("write it in UTF-8") }
        return text
    }

    func failure(_ reason: String) -> RequestError { .malformedCurl(at: position, reason) }
}

extension RequestError {
    /// - Parameter position: the position in the command, in characters from 1.
    static func malformedCurl(at position: Int, _ reason: String) -> RequestError {
        RequestError(.malformedCurl, "the curl command is malformed at character \(position): \(reason)")
    }
}
