import HTTPTypes

extension HTTPRequest.Method {
    /// Whether sending it twice has the effect of sending it once (RFC 9110 section 9.2.2).
    var isIdempotent: Bool { isSafe || self == .put || self == .delete }
}

extension TransportRequest {
    /// Whether it may be sent twice: its method is idempotent, and its body can be had again.
    var isRepeatable: Bool {
        if case .stream = body { return false }
        return method.isIdempotent
    }
}
