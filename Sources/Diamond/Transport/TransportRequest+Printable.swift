import HTTPTypes

extension TransportRequest: Redacted {
    /// The method, and the URL without user info and query, which may be secret.
    public var description: String { method.line(with: url) }
    /// Names, without the values that may be secret.
    var shownMembers: KeyValuePairs<String, Any> {
        [
            "request": description, "headers": headers.map(\.name.rawName), "connectTimeout": connectTimeout as Any,
            "timeout": timeout as Any, "needsNewConnection": needsNewConnection,
        ]
    }
}

extension TransportResponse: Redacted {
    /// The version and the status.
    public var description: String { "\(version) \(status.code)" }
    /// Names, without the values that may be secret.
    var shownMembers: KeyValuePairs<String, Any> {
        ["response": description, "headers": headers.map(\.name.rawName)]
    }
}
