import HTTPTypes

extension HTTPFields {
    /// How many fields are taken from a server or a file: one in earnest sends a few dozen, and HTTPFields traps at 65,536.
    static let mostReceived = 10_000

    /// Adds a field that was received; what comes after the most that are taken is passed over.
    mutating func appendReceived(_ field: HTTPField) { if count < Self.mostReceived { append(field) } }
}

extension HTTPResponse.Status {
    /// `nil` for what is no status: three digits (RFC 9110 section 15). Anything else is a trap of the plain initializer.
    package init?(received code: Int) {
        guard (100...999).contains(code) else { return nil }
        self.init(code: code)
    }
}
