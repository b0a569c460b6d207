import HTTPTypes

extension HTTPFields {
    /// Removes a `Content-Length` that does not count: next to chunks, which override it (RFC 9112 section 6.3), and of
    /// a 204 (RFC 9110 section 8.6). It would be stored and passed on with a body of another length.
    mutating func removeVoidLength(status: Int) {
        if status == 204 || isChunked { self[.contentLength] = nil }
    }

    private var isChunked: Bool {
        contains { field in field.name == .transferEncoding && field.value.listElements.contains("chunked") }
    }
}
