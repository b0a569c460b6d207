/// The media type of a `Content-Type`, without parameters.
struct MediaType {
    /// The type as it is written; empty if there is none.
    private let text: Substring

    init(_ field: String?) {
        var text = (field ?? "").utf8.prefix { $0 != .semicolon }.drop(while: \.isBlank)
        while text.last?.isBlank == true { text.removeLast() }
        self.text = Substring(text)
    }

    /// The type in lower case.
    var essence: String { text.isEmpty ? "application/octet-stream" : text.lowercased() }

    func matches(_ pattern: String) -> Bool {
        if pattern.hasPrefix("+") { return essence.hasSuffix(pattern) }
        if pattern.hasSuffix("/*") { return essence.hasPrefix(pattern.dropLast()) }
        return pattern == essence
    }

    /// Whether this is a type. Every response is checked for one, so that it allocates nothing.
    ///
    /// - Parameter name: the type in lower case.
    func isExactly(_ name: StaticString) -> Bool { text.utf8.isSame(as: name) }

    var isJSON: Bool { ["application/json", "text/json", "+json"].contains(where: matches) }
}

// MARK: Parameters

extension MediaType {
    /// Returns the value of the `charset` parameter of a `Content-Type` (RFC 9110 section 8.3.2), without quotes. If
    /// there are several, the first counts, as in browsers (https://mimesniff.spec.whatwg.org/#parsing-a-mime-type).
    static func charset(in field: String) -> Substring? {
        var rest = Substring(field).utf8
        while let end = rest.firstIndex(of: .semicolon) {
            rest = rest[rest.index(after: end)...].drop(while: \.isBlank)
            let name = rest.prefix { $0 != .semicolon && $0 != .equals }
            rest = rest[name.endIndex...]
            guard rest.first == .equals else { continue }
            rest = rest.dropFirst()
            let value = readValue(&rest)
            if name.isSame(as: "charset"), !value.isEmpty { return Substring(value) }
        }
        return nil
    }

    private static func readValue(_ rest: inout Substring.UTF8View) -> Substring.UTF8View {
        guard rest.first == .quote else {
            let value = rest.prefix { $0 != .semicolon && !$0.isBlank }
            rest = rest[value.endIndex...]
            return value
        }
        var isEscaped = false
        let value = rest.dropFirst().prefix { byte in
            defer { isEscaped = !isEscaped && byte == .backslash }
            return isEscaped || byte != .quote
        }
        rest = rest[value.endIndex...].dropFirst()
        return value
    }
}

extension Substring.UTF8View {
    /// Whether the bytes equal a name, ignoring case.
    ///
    /// - Parameter name: the name in lower case.
    func isSame(as name: StaticString) -> Bool {
        name.withUTF8Buffer { name in elementsEqual(name) { $0 == $1 || $0 | 0x20 == $1 && $1 > 0x60 } }
    }
}

extension UInt8 {
    fileprivate static let semicolon = UInt8(ascii: ";")
    fileprivate static let equals = UInt8(ascii: "=")
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let backslash = UInt8(ascii: "\\")

    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}
