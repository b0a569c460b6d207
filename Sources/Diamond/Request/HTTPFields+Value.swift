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

extension HTTPField.Name {
    /// Whether it tells about the body: `Content-Type`, `Content-Encoding` and their like.
    var isOfBody: Bool { canonicalName.hasPrefix("content-") }

    /// Whether it is what a server knows a repetition by (draft-ietf-httpapi-idempotency-key-header).
    var isIdempotencyKey: Bool { canonicalName == "idempotency-key" }
}
