import HTTPTypes

/// The entity tags of responses.
enum EntityTag {
    /// Whether two are one by weak comparison (RFC 9110 section 8.8.3.2).
    static func match(_ tag: String, _ other: String) -> Bool { opaque(tag).elementsEqual(opaque(other)) }

    // By bytes: what Unicode holds for one may be two to a server.
    private static func opaque(_ tag: String) -> Substring.UTF8View {
        tag.hasPrefix("W/") ? tag.dropFirst(2).utf8 : tag[...].utf8
    }
}

extension HTTPFields {
    /// A validator to ask with: the value of `ETag` or `Last-Modified`.
    ///
    /// `nil` where it is not ASCII. Such bytes mean something to their server alone, in a charset that is not named.
    /// They have to come back as they were sent, and no transport promises that of text.
    func validator(_ name: HTTPField.Name) -> String? {
        guard let value = single(name), value.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return value
    }
}
