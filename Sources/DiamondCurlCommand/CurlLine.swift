import Diamond
import HTTPTypes

/// The options of a `curl` command, read one by one.
struct CurlLine {
    private var words: ArraySlice<ShellWord>
    private(set) var method: HTTPRequest.Method?
    private(set) var url: ShellWord?
    private(set) var headers = CurlHeaders()
    private(set) var data = CurlData()
    /// The parts of a form. A command with a form has no other data.
    private(set) var parts: [MultipartPart] = []
    private(set) var timeout: Duration? = Request.defaultTimeout
    /// The options without a value.
    private(set) var switches: Set<CurlFlag> = []
    /// The position of the command's end, for errors about missing text.
    let end: Int

    init(_ text: String) throws(RequestError) {
        let line = try ShellLine(text)
        end = line.end
        words = line.words[...]
        data.input = line.input
        guard let name = words.popFirst() else { throw .malformedCurl(at: 1, "the command is empty: begin with curl") }
        guard name.bytes.elementsEqual("curl".utf8) else {
            throw name.failure("this is another command: begin with curl")
        }
        while let word = words.popFirst() { try read(word) }
    }

    private mutating func read(_ word: ShellWord) throws(RequestError) {
        guard word.bytes.first == dash, word.bytes.count > 1 else { return try setURL(word) }
        guard word.bytes[1] == dash else { return try readShort(word) }
        guard word.bytes.count > 2 else { return try readRest() }
        try readLong(word)
    }

    /// Reads the words after `--`, none of which is an option.
    private mutating func readRest() throws(RequestError) {
        while let word = words.popFirst() { try setURL(word) }
    }

    private mutating func setURL(_ word: ShellWord) throws(RequestError) {
        guard url == nil else { throw word.failure("this is a second URL: give one, and begin options with '-'") }
        url = word
    }

    // MARK: Options

    /// Reads `--name value`, or `--name=value`.
    private mutating func readLong(_ word: ShellWord) throws(RequestError) {
        let parts = word.bytes.dropFirst(2)
            .split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(decoding: parts[0], as: UTF8.self)
        guard let flag = CurlFlag.long[name] else { throw unknownOption("--" + name, in: word) }
        let value = parts.count == 2 ? ShellWord(bytes: Array(parts[1]), position: word.position) : nil
        guard value == nil || flag.takesValue || flag.isRefused else {
            throw word.failure("--\(name) takes no value: remove it")
        }
        try apply(flag, named: "--" + name, in: word, value: value)
    }

    /// Reads `-s`, several options such as `-sS`, or an option with its value, such as `-XPOST`.
    private mutating func readShort(_ word: ShellWord) throws(RequestError) {
        var rest = word.bytes.dropFirst()
        while let letter = rest.popFirst() {
            let name = Character(Unicode.Scalar(letter))
            guard let flag = CurlFlag.short[name] else { throw unknownOption("-\(name)", in: word) }
            guard flag.takesValue else { try apply(flag, named: "-\(name)", in: word, value: nil); continue }
            let value = rest.isEmpty ? nil : ShellWord(bytes: Array(rest), position: word.position)
            return try apply(flag, named: "-\(name)", in: word, value: value)
        }
    }

    private func unknownOption(_ name: String, in word: ShellWord) -> RequestError {
        word.failure("the option \(name) is unknown: remove it if the request does not need it")
    }

    private mutating func apply(
        _ flag: CurlFlag,
        named name: String,
        in word: ShellWord,
        value: ShellWord?
    ) throws(RequestError) {
        if case .refused(let reason) = flag { throw word.failure(reason) }
        guard flag.takesValue else { return _ = switches.insert(flag) }
        guard let value = value ?? words.popFirst() else { throw word.failure("\(name) needs a value: give one") }
        try set(flag, to: value)
    }

    private mutating func set(_ flag: CurlFlag, to value: ShellWord) throws(RequestError) {
        switch flag {
        case .method: method = try Self.method(value)
        case .header: try headers.add(line: value)
        case .data, .json: try addData(value, of: flag)
        case .form, .formString: try addPart(value, of: flag)
        case .user: try headers.addUser(value)
        case .userAgent: try headers.addDefault(.userAgent, value: value)
        case .referer: try headers.addReferer(value)
        case .cookie: try headers.addCookie(value)
        case .url: try setURL(value)
        case .maxTime: timeout = try Self.duration(value)
        default: break
        }
    }

    private mutating func addData(_ value: ShellWord, of flag: CurlFlag) throws(RequestError) {
        guard parts.isEmpty else { throw Self.dataAndForm(value) }
        guard case .data(let form) = flag else { return try data.add(json: value) }
        try data.add(value, as: form)
    }

    private mutating func addPart(_ value: ShellWord, of flag: CurlFlag) throws(RequestError) {
        guard data.bytes == nil else { throw Self.dataAndForm(value) }
        var field = try CurlFormField(value)
        parts.append(flag == .form ? try field.part() : field.literalPart)
    }

    private static func dataAndForm(_ value: ShellWord) -> RequestError {
        value.failure("curl sends either data or a form: remove -F, or -d and its variants")
    }

    private static func method(_ value: ShellWord) throws(RequestError) -> HTTPRequest.Method {
        guard let method = HTTPRequest.Method(try value.text()) else {
            throw value.failure("that is not a method: write one word such as GET")
        }
        return method
    }

    /// Returns the value of `-m`; `nil` for zero, which sets no limit.
    private static func duration(_ value: ShellWord) throws(RequestError) -> Duration? {
        guard let seconds = Double(try value.text()), (0...Double(Duration.longest / 1000)).contains(seconds) else {
            throw value.failure("that is not a time: write seconds")
        }
        return seconds == 0 ? nil : .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }
}

private let dash = UInt8(ascii: "-")

extension CurlFlag {
    fileprivate var isRefused: Bool {
        if case .refused = self { true } else { false }
    }
}
