import HTTPTypes

/// The entity tags of responses.
enum EntityTag {
    /// Whether two tags are equal by weak comparison (RFC 9110 section 8.8.3.2).
    static func match(_ tag: String, _ other: String) -> Bool { opaque(tag).elementsEqual(opaque(other)) }

    // Compared by bytes: texts that are equal by Unicode may differ for a server.
    private static func opaque(_ tag: String) -> Substring.UTF8View {
        tag.hasPrefix("W/") ? tag.dropFirst(2).utf8 : tag[...].utf8
    }
}

extension HTTPFields {
    /// Returns a validator that can be sent: the value of `ETag` or `Last-Modified`; `nil` if it is not ASCII.
    ///
    /// Other bytes would have to be sent back unchanged, and no transport promises that for text.
    func validator(_ name: HTTPField.Name) -> String? {
        guard let value = single(name), value.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return value
    }
}
