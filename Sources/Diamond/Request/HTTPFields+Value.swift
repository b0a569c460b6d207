import HTTPTypes

extension HTTPFields {
    /// What the subscript says, at a tenth of its cost where one field or none has the name: that joins a single value, too.
    func value(of name: HTTPField.Name) -> String? {
        guard let index = firstIndex(where: { $0.name == name }) else { return nil }
        let isAlone = !self[(index + 1)...].contains { $0.name == name }
        return isAlone ? self[index].value : self[name]
    }

    /// The first value of a field, without a list of them all.
    func first(of name: HTTPField.Name) -> String? { first { $0.name == name }?.value }
}

extension HTTPField {
    /// The value as it is sent: text is UTF-8.
    var bytes: [UInt8] { withUnsafeBytesOfValue { Array($0) } }
}

extension HTTPField.Name {
    /// Whether it tells about the body: `Content-Type`, `Content-Encoding` and their like.
    var isOfBody: Bool { canonicalName.hasPrefix("content-") }

    /// Whether it is what a server knows a repetition by (draft-ietf-httpapi-idempotency-key-header).
    var isIdempotencyKey: Bool { canonicalName == "idempotency-key" }
}

extension String {
    /// The elements of a value that is a list, in lower case, without the blanks around them; also empty ones (RFC 9110
    /// section 5.6.1). By bytes: to Swift a comma and an accent after it are one character, and no comma.
    var listElements: [String] {
        utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { element in
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            let rest = element.drop(while: isBlank)
            let end = rest.lastIndex { !isBlank($0) }.map(rest.index(after:)) ?? rest.startIndex
            return String(Substring(rest[..<end])).lowercased()
        }
    }
}
