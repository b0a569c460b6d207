import Diamond
import Foundation

/// The value of `-F`, taken apart as curl does (curl(1), "--form"; `get_param_part` in its `tool_formparse.c`).
struct CurlFormField {
    private let word: ShellWord
    private let name: String
    /// The unread rest of the content and what stands behind it.
    private var rest: ArraySlice<UInt8>
    /// The byte that ends a value, in addition to `;`.
    private var separator: UInt8?
    private var filename: String?
    private var type: Range<Int>?
    /// Whether what is not known further on belongs to the type, such as `charset=utf-8`.
    private var isTypeOpen = false

    init(_ word: ShellWord) throws(RequestError) {
        self.word = word
        guard let equals = word.bytes.firstIndex(of: UInt8(ascii: "=")) else {
            throw word.failure("a field of the form has no '=': write name=content")
        }
        guard equals > 0 else { throw word.failure("a part of the form has no name: write name=content") }
        name = try Self.text(word.bytes[..<equals], of: word)
        rest = word.bytes[(equals + 1)...]
    }

    /// The part of `--form-string`, in whose content nothing has a meaning.
    var literalPart: MultipartPart { MultipartPart(name, .bytes(Data(rest))) }

    /// The part of `--form`.
    mutating func part() throws(RequestError) -> MultipartPart {
        let part =
            switch rest.first.map(Unicode.Scalar.init) {
            case "(":
                throw word.failure("a part holds parts, which no request has: quote the content, name=\"(…\"")
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

    /// `@` tells the file's name, `<` does not.
    private mutating func file(isAttached: Bool) throws(RequestError) -> MultipartPart {
        if isAttached { separator = UInt8(ascii: ",") }
        let path = try Self.text(try value()[...], of: word)
        guard !path.isEmpty else { throw word.failure("a part's file is not named: write name=@path") }
        guard path != "-" else { throw word.failure("a part is read from standard input: name its file") }
        try readAttributes()
        guard isAttached || filename == nil else {
            throw word.failure("curl tells no filename with '<': write '@', or remove it")
        }
        let told = isAttached ? filename ?? String(path.split(separator: "/").last ?? "") : nil
        let type = try typeText() ?? CurlMediaType.guess(path: path, filename: told)
        return MultipartPart(name, .file(URL(filePath: path)), filename: told, contentType: type)
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
        if !isTypeOpen, take("type=") { return try beginType() }
        if take("filename=") {
            isTypeOpen = false
            return filename = try Self.text(try value()[...], of: word)
        }
        guard !take("headers=") else { throw word.failure("a part's headers cannot be set: remove ';headers='") }
        guard !take("encoder=") else { throw word.failure("parts are sent as they are: remove ';encoder='") }
        if isTypeOpen { return extendType() }
        guard try value().isEmpty else {
            throw word.failure("curl would leave out what follows the ';': quote the content, name=\"…;…\"")
        }
    }

    /// At least `type/subtype`; parameters follow.
    private mutating func beginType() throws(RequestError) {
        skipBlanks()
        let start = rest.startIndex
        let major = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: " ") }
        let minor = rest[major.endIndex...].dropFirst().prefix { !"\n;, ".utf8.contains($0) }
        guard (1...127).contains(major.count), rest[major.endIndex...].first == UInt8(ascii: "/"), !minor.isEmpty
        else {
            throw word.failure("the type of a part is none: write ;type=text/plain")
        }
        rest = rest[minor.endIndex...]
        type = start..<rest.startIndex
        isTypeOpen = true
        extendType()
    }

    private mutating func extendType() {
        guard let start = type?.lowerBound else { return }
        let added = takeToEnd()
        let end = added.lastIndex { !$0.isFormBlank }.map { $0 + 1 } ?? added.startIndex
        type = start..<end
    }

    private func typeText() throws(RequestError) -> String? {
        guard let type else { return nil }
        return try Self.text(word.bytes[type], of: word)
    }

    // MARK: Values

    /// In quotes, or bare without the blanks around it.
    private mutating func value() throws(RequestError) -> [UInt8] {
        skipBlanks()
        if let quoted = quoted() {
            guard takeToEnd().allSatisfy(\.isFormBlank) else {
                throw word.failure("curl would leave out what follows the quotes: put it in, or remove it")
            }
            return quoted
        }
        var value = takeToEnd()
        while value.last?.isFormBlank == true { value.removeLast() }
        return Array(value)
    }

    /// `nil` where no quotes begin, or none end: then they are part of the value.
    private mutating func quoted() -> [UInt8]? {
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var (value, left) = ([UInt8](), rest.dropFirst())
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

    private mutating func takeToEnd() -> ArraySlice<UInt8> {
        let taken = rest.prefix { $0 != UInt8(ascii: ";") && $0 != separator }
        rest = rest[taken.endIndex...]
        return taken
    }

    /// Case does not count.
    private mutating func take(_ prefix: String) -> Bool {
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
    /// Space, tab, and what ends a line or page.
    fileprivate var isFormBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
