import HTTPTypes

extension Response: Redacted {
    /// The status, the source, and the URL without user info and query, which may be secret.
    public var description: String {
        "\(status.code) from \(source.rawValue), \(RequestURL.masked(Array(url.utf8)).dropFirst().dropLast())"
    }

    /// Names, without the values that may be secret.
    var shownMembers: KeyValuePairs<String, Any> {
        [
            "response": description, "headers": headers.map(\.name.rawName), "bodySize": body.count,
            "attempts": attempts,
        ]
    }
}
