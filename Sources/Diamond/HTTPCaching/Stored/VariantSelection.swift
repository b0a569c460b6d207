/// The values of the header fields that select a variant (RFC 9111 section 4.1).
struct VariantSelection: Hashable, Sendable {
    /// The maximum number of bytes of a selection that an index lists.
    static let listedSize = 512

    /// The lines of ``VariantFields/lines(for:_:)``, each with a comma in place of its line feed.
    let text: String

    init(lines: [UInt8]) {
        text = String(decoding: lines.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: ",") : $0 }, as: UTF8.self)
    }

    /// - Parameter text: the value of ``text``.
    init(text: String) { self.text = text }

    /// The lines, which follow the canonical form of the request.
    var lines: [UInt8] { text.utf8.map { $0 == UInt8(ascii: ",") ? UInt8(ascii: "\n") : $0 } }

    /// Whether an index lists the selection.
    var isListed: Bool { text.utf8.count <= Self.listedSize }

    /// Whether a request has the same credentials among the fields that select the variant. The validators of one
    /// user's variants are not sent with another user's requests.
    ///
    /// - Parameters:
    ///   - line: returns the line of the request for a field.
    ///   - isCredential: whether a field's value is a credential.
    func hasCredentials(like line: (String) -> [UInt8], isCredential: (String) -> Bool) -> Bool {
        lines.split(separator: UInt8(ascii: "\n")).allSatisfy { own in
            let words = own.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            guard words.count > 1 else { return false }
            let name = String(decoding: words[1], as: UTF8.self)
            return !isCredential(name) || line(name).dropLast().elementsEqual(own)
        }
    }
}
