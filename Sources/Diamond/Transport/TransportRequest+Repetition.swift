import HTTPTypes

extension TransportRequest {
    /// Whether it may be sent twice: its method is idempotent, and its body can be had again.
    var isRepeatable: Bool {
        if case .stream = body { return false }
        return method.isIdempotent
    }
}
