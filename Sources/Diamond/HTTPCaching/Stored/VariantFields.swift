import HTTPTypes

/// The header fields by which a response varies, as far as they are not part of the request's key (RFC 9111 section
/// 4.1).
struct VariantFields: Hashable, Sendable {
    /// The names in lower case, sorted, each once; at least one.
    let names: [String]

    /// - Returns: `nil` without names.
    init?(_ names: some Sequence<String>) {
        self.names = Set(names).sorted()
        if self.names.isEmpty { return nil }
    }

    /// Returns the lines that select a variant: they follow the canonical form of the request.
    ///
    /// A field that the request does not have is a line with its name alone. Equal values have equal lines, whatever
    /// the blanks around their elements, and however many lines a list is divided into. The value of a credential is a
    /// keyed digest.
    func lines(for headers: HTTPFields, _ rules: KeyRules) -> [UInt8] {
        names.flatMap { name in
            let values = headers.filter { $0.name.canonicalName == name }.map { Self.normalized($0.byteText, of: name) }
            guard !values.isEmpty else { return Array("vary \(name)\n".utf8) }
            let value = values.joined(separator: ", ")
            let text =
                rules.isCredential(name) ? Array(rules.digest(of: value.utf8).utf8) : PercentEncoding.encode(value.utf8)
            return Array("vary \(name) ".utf8) + text + [0x0A]
        }
    }

    /// The fields of content negotiation, whose values are compared without regard to case (RFC 9110 section 12.5).
    private static let caseless: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]

    /// Returns the normal form of a value, which is the same for values that mean the same (section 4.1). In the fields
    /// of content negotiation, blanks at commas and semicolons are removed, in others the blanks at both ends. The
    /// order of elements stays, because some servers read it as priority. So does a value with quotes.
    private static func normalized(_ value: String, of name: String) -> String {
        guard caseless.contains(name), !value.utf8.contains(UInt8(ascii: "\"")) else { return trimmed(value.utf8[...]) }
        let elements = value.utf8.split(separator: UInt8(ascii: ",")).map { element in
            let parts = element.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            return parts.map { trimmed($0).lowercased() }.joined(separator: ";")
        }
        return elements.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let rest = text.drop(while: isBlank)
        guard let last = rest.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(decoding: rest[...last], as: UTF8.self)
    }
}

extension VariantFields {
    /// The meaning of the `Vary` of a response for its place in the cache.
    enum Vary: Equatable {
        /// The key of the request identifies the response.
        case key
        /// The response is one of several under the key.
        case fields(VariantFields)
        /// No request is known to select the response: `*`, or a field whose sent value is unknown.
        case unknown
    }

    /// The part that a header field of the request has in the selection of a response.
    enum Selection {
        /// It is part of the key as it was sent.
        case key
        /// It was sent with the value that the request has.
        case value
        /// It was sent with a value that the request does not have.
        case unknown
    }

    /// Reads the `Vary` fields of a response.
    ///
    /// - Parameter selection: returns the part of a field, whose name is in lower case.
    static func vary(_ headers: HTTPFields, selection: (String) -> Selection) -> Vary {
        var names: [String] = []
        for name in headers[values: .vary].flatMap(\.listElements) where !name.isEmpty {
            guard name != "*" else { return .unknown }
            switch selection(name) {
            case .key: break
            case .value: names.append(name)
            case .unknown: return .unknown
            }
        }
        return VariantFields(names).map { .fields($0) } ?? .key
    }
}
