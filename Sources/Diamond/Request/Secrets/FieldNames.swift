public import HTTPTypes

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
