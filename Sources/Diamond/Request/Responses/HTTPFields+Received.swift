package import HTTPTypes

extension HTTPFields {
    /// The maximum number of fields accepted from a server or a file. Real servers send a few dozen, and `HTTPFields`
    /// traps at 65,536.
    package static let mostReceived = 10_000

    /// Appends a received field unless there are ``mostReceived`` fields.
    mutating func appendReceived(_ field: HTTPField) { if count < Self.mostReceived { append(field) } }
}

extension HTTPResponse.Status {
    /// Creates a status of three digits (RFC 9110 section 15); `nil` for any other number. `init(code:)` traps on
    /// those.
    package init?(received code: Int) {
        guard (100...999).contains(code) else { return nil }
        self.init(code: code)
    }
}
