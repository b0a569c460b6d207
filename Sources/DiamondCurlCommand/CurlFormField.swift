import Diamond
import Foundation

/// A parser for the value of `-F`, with curl's rules (curl(1), "--form"; `get_param_part` in its `tool_formparse.c`).
struct CurlFormField {
    private let word: ShellWord
    private let name: String
    /// The unread rest of the content and its attributes.
    private var rest: ArraySlice<UInt8>
    /// A byte that ends a value, in addition to `;`.
    private var separator: UInt8?
    private var filename: String?
    private var type: Range<Int>?
    /// Whether an unknown attribute, such as `charset=utf-8`, belongs to the type.
    private var extendsType = false

    init(_ word: ShellWord) throws(RequestError) {
        self.word = word
        guard let equals = word.bytes.firstIndex(of: UInt8(ascii: "=")) else {
            throw word.failure("a field of the form has no '=': write name=content")
        }
        guard equals > 0 else { throw word.failure("a part of the form has no name: write name=content") }
        name = try Self.text(word.bytes[..<equals], of: word)
        rest = word.bytes[(equals + 1)...]
    }

    /// The part of `--form-string`, whose content has no special characters.
    var literalPart: MultipartPart { MultipartPart(name, .bytes(Data(rest))) }

    /// Returns the part of `--form`.
    mutating func part() throws(RequestError) -> MultipartPart {
        let part =
            switch rest.first.map(Unicode.Scalar.init) {
            case "(":
                throw word.failure("parts within a part are not supported: quote the content, name=\"(…\"")
            case "@", "<": try file(isAttached: rest.popFirst() == UInt8(ascii: "@"))
            default: try text()
            }
        do { _ = try part.head() } catch { throw word.failure(error.message) }
        return part
    }

    private mutating func text() throws(RequestError) -> MultipartPart {
        let content = try value()
        try readAttributes()
        let type = try typeText() ?? filename.flatMap(CurlMediaType.guess)
        return MultipartPart(name, .bytes(Data(content)), filename: filename, contentType: type)
    }

    /// Returns the part of a file. `@` sends its filename, `<` does not.
    private mutating func file(isAttached: Bool) throws(RequestError) -> MultipartPart {
        if isAttached { separator = UInt8(ascii: ",") }
        let path = try Self.text(try value()[...], of: word)
        guard !path.isEmpty else { throw word.failure("a part's file is not named: write name=@path") }
        guard path != "-" else { throw word.failure("a part is read from standard input: name its file") }
        try readAttributes()
        guard isAttached || filename == nil else {
            throw word.failure("curl sends no filename with '<': write '@', or remove it")
        }
        let sent = isAttached ? filename ?? String(path.split(separator: "/").last ?? "") : nil
        let type = try typeText() ?? CurlMediaType.guess(path: path, filename: sent)
        return MultipartPart(name, .file(URL(filePath: path)), filename: sent, contentType: type)
    }

    // MARK: Attributes

    private mutating func readAttributes() throws(RequestError) {
        while let mark = rest.popFirst() {
            guard mark != separator else {
                throw word.failure("a part has several files: write -F for each, or quote a ',' of the path")
            }
            skipBlanks()
            try readAttribute()
        }
    }

    private mutating func readAttribute() throws(RequestError) {
        if !extendsType, consume("type=") { return try beginType() }
        if consume("filename=") {
            extendsType = false
            return filename = try Self.text(try value()[...], of: word)
        }
        guard !consume("headers=") else { throw word.failure("a part's headers cannot be set: remove ';headers='") }
        guard !consume("encoder=") else { throw word.failure("parts are sent as they are: remove ';encoder='") }
        if extendsType { return extendType() }
        guard try value().isEmpty else {
            throw word.failure("curl would leave out what follows the ';': quote the content, name=\"…;…\"")
        }
    }

    /// Reads a type: at least `type/subtype`, followed by parameters.
    private mutating func beginType() throws(RequestError) {
        skipBlanks()
        let start = rest.startIndex
        let major = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: " ") }
        let minor = rest[major.endIndex...].dropFirst().prefix { !"\n;, ".utf8.contains($0) }
        guard (1...127).contains(major.count), rest[major.endIndex...].first == UInt8(ascii: "/"), !minor.isEmpty
        else {
            throw word.failure("the type of a part is not valid: write ;type=text/plain")
        }
        rest = rest[minor.endIndex...]
        type = start..<rest.startIndex
        extendsType = true
        extendType()
    }

    private mutating func extendType() {
        guard let start = type?.lowerBound else { return }
        let added = consumeToEnd()
        let end = added.lastIndex { !$0.isFormBlank }.map { $0 + 1 } ?? added.startIndex
        type = start..<end
    }

    private func typeText() throws(RequestError) -> String? {
        guard let type else { return nil }
        return try Self.text(word.bytes[type], of: word)
    }

    // MARK: Values

    /// Reads a value in quotes, or one without quotes and without the blanks around it.
    private mutating func value() throws(RequestError) -> [UInt8] {
        skipBlanks()
        if let quoted = quoted() {
            guard consumeToEnd().allSatisfy(\.isFormBlank) else {
                throw word.failure("curl would leave out what follows the quotes: put it in, or remove it")
            }
            return quoted
        }
        var value = consumeToEnd()
        while value.last?.isFormBlank == true { value.removeLast() }
        return Array(value)
    }

    /// Reads a value in quotes. Returns `nil` if there are none, or if they are not closed.
    private mutating func quoted() -> [UInt8]? {
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var value: [UInt8] = []
        var left = rest.dropFirst()
        while let byte = left.popFirst() {
            if byte == UInt8(ascii: "\\"), let next = left.first, "\\\"".utf8.contains(next) {
                value.append(next)
                left.removeFirst()
            } else if byte == UInt8(ascii: "\"") {
                rest = left
                return value
            } else {
                value.append(byte)
            }
        }
        return nil
    }

    private mutating func skipBlanks() { rest = rest.drop(while: \.isFormBlank) }

    private mutating func consumeToEnd() -> ArraySlice<UInt8> {
        let consumed = rest.prefix { $0 != UInt8(ascii: ";") && $0 != separator }
        rest = rest[consumed.endIndex...]
        return consumed
    }

    /// Skips a prefix, ignoring case.
    ///
    /// - Returns: `false` if there is other text.
    private mutating func consume(_ prefix: String) -> Bool {
        let beginning = rest.prefix(prefix.utf8.count)
        guard String(decoding: beginning, as: UTF8.self).lowercased() == prefix else { return false }
        rest = rest[beginning.endIndex...]
        return true
    }

    private static func text(_ bytes: ArraySlice<UInt8>, of word: ShellWord) throws(RequestError) -> String {
        try ShellWord(bytes: Array(bytes), position: word.position).text()
    }
}

extension UInt8 {
    /// Whether the byte is ASCII white space.
    fileprivate var isFormBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

/// The content types that curl sends for a part without one, by the filename's extension (`Curl_mime_contenttype` in
/// its `mime.c`).
enum CurlMediaType {
    private static let known: KeyValuePairs = [
        ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
        ".svg": "image/svg+xml", ".txt": "text/plain", ".htm": "text/html", ".html": "text/html",
        ".pdf": "application/pdf", ".xml": "application/xml",
    ]

    static func guess(_ filename: String) -> String? {
        let name = filename.lowercased()
        return known.first { name.hasSuffix($0.key) }?.value
    }

    /// Returns the content type of a part that is a file.
    ///
    /// - Parameter filename: the filename sent to the server; `nil` if none is sent.
    static func guess(path: String, filename: String?) -> String? {
        guard let filename else { return guess(path).flatMap { $0 == "text/plain" ? nil : $0 } }
        return guess(filename) ?? guess(path) ?? "application/octet-stream"
    }
}
