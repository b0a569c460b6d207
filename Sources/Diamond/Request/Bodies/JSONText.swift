/// JSON text that is sent as it is, and its value.
public struct JSONText: Hashable, Sendable {
    /// The text, which is sent byte for byte.
    public let text: String
    /// The value of the text.
    public let value: JSONValue

    /// Creates JSON text, and reads its value.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/malformedJSON`` with line and column, and
    ///   ``RequestError/Code-swift.struct/ambiguousJSON`` for text that two readers could read differently.
    init(_ text: String) throws(RequestError) {
        self.text = text
        value = try JSONValue.read(text.utf8)
    }

    /// Whether the texts are equal to the byte.
    public static func == (one: JSONText, other: JSONText) -> Bool { one.text.isExactly(other.text) }
}

extension JSONText {
    /// Reads the member `jsonText` of a written body.
    init(_ text: String, in form: WrittenObject) throws(RequestError) {
        do { try self.init(text) } catch {
            throw form.failure(at: "jsonText", "is not JSON that all readers read alike: \(error.message)")
        }
    }
}
