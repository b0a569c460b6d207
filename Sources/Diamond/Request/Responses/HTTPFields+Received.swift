package import HTTPTypes

extension HTTPFields {
    /// The largest number of fields taken from a server or a file. A real one sends a few dozen, and `HTTPFields` traps
    /// at 65,536.
    package static let mostReceived = 10_000

    /// Appends a received field; ignores it if there are ``mostReceived`` fields already.
    mutating func appendReceived(_ field: HTTPField) { if count < Self.mostReceived { append(field) } }
}

extension HTTPResponse.Status {
    /// Creates a status of three digits (RFC 9110 section 15); `nil` for any other number, on which the plain
    /// initializer traps.
    package init?(received code: Int) {
        guard (100...999).contains(code) else { return nil }
        self.init(code: code)
    }
}
