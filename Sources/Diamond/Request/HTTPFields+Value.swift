import HTTPTypes

extension HTTPFields {
    /// The value of a field that may stand once, such as `Content-Type` (RFC 9110 section 5.5).
    ///
    /// Equal repetitions are one. Values that differ count as none, so that the field is absent. Three fields have rules of
    /// their own: the first `Age` counts (RFC 9111 section 5.1), several `Expires` that differ are in the past (section
    /// 4.2.1), and the first `Retry-After` is waited for. A list, such as `Accept-Ranges`, is read with the subscript.
    func single(_ name: HTTPField.Name) -> String? {
        guard let index = firstIndex(where: { $0.name == name }) else { return nil }
        return self[(index + 1)...].contains { $0.name == name && !$0.value.isExactly(self[index].value) }
            ? nil : self[index].value
    }

    /// Whether a field that may stand once stands there with values that differ.
    func isContradictory(_ name: HTTPField.Name) -> Bool { contains(name) && single(name) == nil }

    /// Whether the same fields have the same values, to the byte. Fields of different names may stand in another order.
    func isExactly(_ other: HTTPFields) -> Bool {
        guard count == other.count else { return false }
        if zip(self, other).allSatisfy({ $0.name == $1.name && $0.value.isExactly($1.value) }) { return true }
        return Set(map(\.name)).allSatisfy { self[values: $0].isExactly(other[values: $0]) }
    }

    /// The first value of a field, without a list of them all.
    func first(of name: HTTPField.Name) -> String? { first { $0.name == name }?.value }
}

extension HTTPField {
    /// The value as it is sent: text is UTF-8.
    var bytes: [UInt8] { withUnsafeBytesOfValue { Array($0) } }
}

extension HTTPField.Name {
    /// Whether the field describes the body: `Content-Type`, `Content-Encoding` and their like.
    var isOfBody: Bool { canonicalName.hasPrefix("content-") }

    /// Whether it is `Idempotency-Key`, by which a server recognizes a repetition
    /// (draft-ietf-httpapi-idempotency-key-header).
    var isIdempotencyKey: Bool { canonicalName == "idempotency-key" }
}

extension String {
    /// The elements of a list value, in lower case, without the blanks around them. Empty elements are included (RFC
    /// 9110 section 5.6.1). The value is split by bytes: to Swift a comma and an accent after it are one character, and
    /// no comma.
    var listElements: [String] {
        utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { element in
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            let rest = element.drop(while: isBlank)
            let end = rest.lastIndex { !isBlank($0) }.map(rest.index(after:)) ?? rest.startIndex
            return String(Substring(rest[..<end])).lowercased()
        }
    }
}
