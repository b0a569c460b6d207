import HTTPTypes

extension TransportRequest {
    /// Whether the request may be sent again: its method is idempotent, and its body can be read again.
    var isRepeatable: Bool {
        if case .stream = body { return false }
        return method.isIdempotent
    }
}
