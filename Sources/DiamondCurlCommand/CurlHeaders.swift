import Diamond
import HTTPTypes

/// The headers of a `curl` command: those named with `-H`, and those that other options set.
struct CurlHeaders {
    private var named = HTTPFields()
    /// The names of the headers that `-H` sets or removes. Other options do not set these.
    private(set) var names: Set<HTTPField.Name> = []
    private var defaults = HTTPFields()
    private var cookies: [String] = []

    /// Adds the value of `-H`: `Name: value`, `Name;` for an empty value, or `Name:` to remove a header that curl adds.
    mutating func add(line word: ShellWord) throws(RequestError) {
        guard word.bytes.first != UInt8(ascii: "@") else {
            throw word.failure("the headers are in a file: write each with -H")
        }
        guard named.count < HTTPFields.mostReceived else { throw word.failure("more than 10,000 headers: send fewer") }
        let parts = word.bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return try addEmpty(word) }
        let field = try Self.field(named: parts[0], value: parts[1], word: word)
        names.insert(field.name)
        if !field.value.isEmpty { named.append(field) }
    }

    private mutating func addEmpty(_ word: ShellWord) throws(RequestError) {
        let parts = word.bytes.split(separator: UInt8(ascii: ";"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].allSatisfy(\.isBlank) else {
            throw word.failure("a header has no ':': write 'Name: value'")
        }
        let field = try Self.field(named: parts[0], value: [], word: word)
        names.insert(field.name)
        named.append(field)
    }

    /// Adds a header that another option sets.
    mutating func addDefault(_ name: HTTPField.Name, value: ShellWord) throws(RequestError) {
        let field = try Self.field(named: Array(name.rawName.utf8)[...], value: value.bytes[...], word: value)
        // Appended, because setting a field splits cookies into several fields.
        defaults[name] = nil
        defaults.append(field)
    }

    /// Adds the value of `-e` without `;auto` and the text after it, which make curl set the header after redirects.
    mutating func addReferer(_ value: ShellWord) throws(RequestError) {
        let end = value.bytes.firstRange(of: ";auto".utf8)?.lowerBound ?? value.bytes.endIndex
        try addDefault(.referer, value: ShellWord(bytes: Array(value.bytes[..<end]), position: value.position))
    }

    mutating func addCookie(_ value: ShellWord) throws(RequestError) {
        guard value.bytes.contains(UInt8(ascii: "=")) else {
            throw value.failure("the cookies are in a file: write them as 'name=value'")
        }
        cookies.append(
            try Self.field(named: Array(HTTPField.Name.cookie.rawName.utf8)[...], value: value.bytes[...], word: value)
                .value)
    }

    mutating func addUser(_ value: ShellWord) throws(RequestError) {
        guard value.bytes.contains(UInt8(ascii: ":")) else {
            throw value.failure("curl would ask for the password: write user:password")
        }
        _ = try value.text()
        defaults[.authorization] = BasicCredentials.header(PercentEncoding.encode(value.bytes))
    }

    private static func field(
        named name: ArraySlice<UInt8>,
        value: ArraySlice<UInt8>,
        word: ShellWord
    ) throws(RequestError) -> HTTPField {
        _ = try word.text()
        var value = value.drop(while: \.isBlank)
        while value.last?.isBlank == true { value.removeLast() }
        let name = String(decoding: name, as: UTF8.self)
        let text = String(decoding: value, as: UTF8.self)
        do { return try HTTPField(checking: name, text) } catch { throw word.failure(error.message) }
    }

    /// All headers, those given with `-H` first.
    var all: HTTPFields {
        var all = named
        for field in defaults where !names.contains(field.name) && !field.value.isEmpty { all.append(field) }
        if !cookies.isEmpty, !names.contains(.cookie) {
            all.append(HTTPField(name: .cookie, value: cookies.joined(separator: "; ")))
        }
        return all
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
