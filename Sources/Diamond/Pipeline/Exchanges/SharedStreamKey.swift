import HTTPTypes

/// The properties that the requests of a gateway's clients have in common when they share an exchange: what a stored
/// response has to match. The other header fields are compared when the response says which of them count.
struct SharedStreamKey: Hashable, Sendable {
    let key: RequestKey
    /// The values of the fields of ``negotiation``.
    private let values: [String?]

    /// The fields by which most servers select a response. Without them, clients with different codings would wait for
    /// responses that are not for them.
    static let negotiation: [HTTPField.Name] = [.accept, .acceptEncoding, .acceptLanguage]

    init(_ key: RequestKey, headers: HTTPFields) {
        self.key = key
        values = Self.negotiation.map { headers[$0] }
    }

    // The negotiation is nearly always the same.
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
