public import HTTPTypes

extension HTTPFields {
    /// Returns the value of a singleton field, such as `Content-Type` (RFC 9110 section 5.5).
    ///
    /// Equal repetitions count once. If the values differ, the field counts as absent. Three fields have other rules:
    /// the first `Age` counts (RFC 9111 section 5.1), differing `Expires` are in the past (section 4.2.1), and the
    /// first `Retry-After` counts. Read a list field, such as `Accept-Ranges`, with the subscript.
    func single(_ name: HTTPField.Name) -> String? {
        guard let index = firstIndex(where: { $0.name == name }) else { return nil }
        return self[(index + 1)...].contains { $0.name == name && !$0.hasBytes(of: self[index]) }
            ? nil : self[index].value
    }

    /// Whether a singleton field is repeated with different values.
    func isContradictory(_ name: HTTPField.Name) -> Bool { contains(name) && single(name) == nil }

    /// Whether both have the same fields with byte-identical values. The order of fields with different names is
    /// ignored.
    func isExactly(_ other: HTTPFields) -> Bool {
        guard count == other.count else { return false }
        if zip(self, other).allSatisfy({ $0.name == $1.name && $0.hasBytes(of: $1) }) { return true }
        return Set(map(\.name)).allSatisfy { name in
            self[fields: name].elementsEqual(other[fields: name]) { $0.hasBytes(of: $1) }
        }
    }

    /// Returns the value of a singleton field as ``HTTPField/byteText``.
    func byteText(_ name: HTTPField.Name) -> String? {
        single(name) == nil ? nil : first { $0.name == name }?.byteText
    }

    /// Sets the one value of a field by its ``HTTPField/byteText``.
    mutating func set(_ name: HTTPField.Name, byteText text: String) {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return self[name] = text }
        let bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        self[fields: name] = [HTTPField(name: name, lenientValue: bytes)]
    }

    /// Returns the first value of a field without building a list of all values.
    func first(of name: HTTPField.Name) -> String? { first { $0.name == name }?.value }

    /// Joins all `Cookie` fields in one. `HTTPFields` splits them for HTTP/2, but HTTP/1.1 allows one field only (RFC
    /// 6265 section 5.4, RFC 9113 section 8.2.3). Code that joins repeated fields would put commas between the cookies.
    mutating func joinCookies() {
        guard let first = firstIndex(where: { $0.name == .cookie }) else { return }
        let others = indices[(first + 1)...].filter { self[$0].name == .cookie }
        guard !others.isEmpty else { return }
        let values = ([first] + others).map { self[$0].bytes }
        self[first] = HTTPField(name: self[first].name, lenientValue: Array(values.joined(separator: "; ".utf8)))
        for index in others.reversed() { remove(at: index) }
    }

    /// The maximum number of fields accepted from a server or a file. Real servers send a few dozen, and `HTTPFields`
    /// traps at 65,536.
    package static let mostReceived = 10_000

    /// Appends a received field unless there are ``mostReceived`` fields.
    mutating func appendReceived(_ field: HTTPField) { if count < Self.mostReceived { append(field) } }
}

extension HTTPField {
    /// The bytes of the value as it is sent.
    var bytes: [UInt8] { withUnsafeBytesOfValue { Array($0) } }

    /// Whether the value is UTF-8.
    var isText: Bool {
        withUnsafeBytesOfValue { bytes in
            bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
        }
    }

    /// Whether two values are the same bytes.
    func hasBytes(of other: HTTPField) -> Bool {
        withUnsafeBytesOfValue { bytes in other.withUnsafeBytesOfValue { bytes.elementsEqual($0) } }
    }

    /// The bytes of the value as characters of ISO-8859-1. Values with different bytes have different texts, even if
    /// the bytes are not UTF-8.
    var byteText: String {
        withUnsafeBytesOfValue { bytes in
            bytes.allSatisfy { $0 < 0x80 }
                ? value : String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        }
    }
}

extension HTTPField.Name {
    /// Whether the field describes the body, such as `Content-Type` and `Content-Encoding`.
    var isOfBody: Bool { canonicalName.hasPrefix("content-") }

    /// Whether the name is `Idempotency-Key`, by which a server recognizes a repetition
    /// (draft-ietf-httpapi-idempotency-key-header).
    var isIdempotencyKey: Bool { canonicalName == "idempotency-key" }
}

extension String {
    /// The elements of a list value (RFC 9110 section 5.6.1), in lower case, trimmed, empty ones included. The value is
    /// split by bytes: a comma followed by a combining character is a different `Character`.
    var listElements: [String] {
        utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { element in
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            let rest = element.drop(while: isBlank)
            let end = rest.lastIndex { !isBlank($0) }.map(rest.index(after:)) ?? rest.startIndex
            return String(Substring(rest[..<end])).lowercased()
        }
    }
}

extension HTTPResponse.Status {
    /// Creates a status of three digits (RFC 9110 section 15); `nil` for any other number. `init(code:)` traps on
    /// those.
    package init?(received code: Int) {
        guard (100...999).contains(code) else { return nil }
        self.init(code: code)
    }
}

/// The names of fields that HTTPTypes does not define.
extension HTTPField.Name {
    /// The `Idempotency-Key` field, by which a server recognizes a repetition of a request and acts once
    /// (draft-ietf-httpapi-idempotency-key-header).
    public static let idempotencyKey = known("Idempotency-Key")
    /// The `Link` field (RFC 8288 section 3), which ``Response/links`` reads.
    public static let link = known("Link")

    private static func known(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not the name of a field") }
        return name
    }
}
