import Diamond
import HTTPTypes

/// The headers of a `curl` command: those it names, and those that other options make.
struct CurlHeaders {
    private var named = HTTPFields()
    /// Headers named with `-H`, also to remove them: no other option makes these.
    private(set) var names: Set<HTTPField.Name> = []
    private var defaults = HTTPFields()
    private var cookies: [String] = []

    /// `Name: value`; `Name;` has an empty value, `Name:` keeps curl from making the header.
    mutating func add(line word: ShellWord) throws(RequestError) {
        guard word.bytes.first != UInt8(ascii: "@") else {
            throw word.failure("the headers are in a file: write each with -H")
        }
        guard named.count < HTTPFields.mostReceived else { throw word.failure("more than 10,000 headers: send fewer") }
        let parts = word.bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return try addEmpty(word) }
        let field = try Self.field(parts[0], parts[1], word)
        names.insert(field.name)
        if !field.value.isEmpty { named.append(field) }
    }

    private mutating func addEmpty(_ word: ShellWord) throws(RequestError) {
        let parts = word.bytes.split(separator: UInt8(ascii: ";"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].allSatisfy(\.isBlank) else {
            throw word.failure("a header has no ':': write 'Name: value'")
        }
        let field = try Self.field(parts[0], [], word)
        names.insert(field.name)
        named.append(field)
    }

    /// A header that another option makes.
    mutating func addDefault(_ name: HTTPField.Name, _ value: ShellWord) throws(RequestError) {
        let field = try Self.field(Array(name.rawName.utf8)[...], value.bytes[...], value)
        // Appended, not set: setting divides cookies over several fields.
        defaults[name] = nil
        defaults.append(field)
    }

    /// Without `;auto` and what follows it, which is about redirects: curl would name the page that led there.
    mutating func addReferer(_ value: ShellWord) throws(RequestError) {
        let end = value.bytes.firstRange(of: ";auto".utf8)?.lowerBound ?? value.bytes.endIndex
        try addDefault(.referer, ShellWord(bytes: Array(value.bytes[..<end]), position: value.position))
    }

    mutating func addCookie(_ value: ShellWord) throws(RequestError) {
        guard value.bytes.contains(UInt8(ascii: "=")) else {
            throw value.failure("the cookies are in a file: write them as 'name=value'")
        }
        cookies.append(try Self.field(Array(HTTPField.Name.cookie.rawName.utf8)[...], value.bytes[...], value).value)
    }

    mutating func addUser(_ value: ShellWord) throws(RequestError) {
        guard value.bytes.contains(UInt8(ascii: ":")) else {
            throw value.failure("curl would ask for the password: write user:password")
        }
        _ = try value.text()
        defaults[.authorization] = BasicCredentials.header(PercentEncoding.encode(value.bytes))
    }

    private static func field(
        _ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>, _ word: ShellWord
    ) throws(RequestError) -> HTTPField {
        _ = try word.text()
        var value = value.drop(while: \.isBlank)
        while value.last?.isBlank == true { value.removeLast() }
        let texts = (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        do { return try HTTPField(checking: texts.0, texts.1) } catch { throw word.failure(error.message) }
    }

    /// All of them, those named first.
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
