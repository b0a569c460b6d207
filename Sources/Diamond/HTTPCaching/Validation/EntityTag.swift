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
    /// Returns a validator that can be sent: the value of `ETag` or `Last-Modified`, as ``HTTPField/byteText``.
    ///
    /// Bytes above 0x7F have to be sent as they were received (RFC 9110 section 8.8.3). A value that is not UTF-8 keeps
    /// its bytes. Text may have been decoded from other bytes, and is no validator: `nil`.
    func validator(_ name: HTTPField.Name) -> String? {
        guard let value = byteText(name) else { return nil }
        let isExact = value.utf8.allSatisfy { $0 < 0x80 } || !(first { $0.name == name }?.isText ?? true)
        return isExact ? value : nil
    }

    /// All values of `ETag`, as ``HTTPField/byteText``; `nil` if there is none.
    var entityTags: String? {
        let tags = filter { $0.name == .eTag }.map(\.byteText)
        return tags.isEmpty ? nil : tags.joined(separator: ", ")
    }
}
