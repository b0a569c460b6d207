import HTTPTypes

extension TransportRequest {
    /// The error for a request that no transport can send; `nil` for others.
    var refusal: TransportError? {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            return TransportError(.badURL, "the URL cannot be sent: give an http or https URL")
        }
        guard method != .head || body.isNone else {
            return TransportError(
                .badRequestBody, "a HEAD request carries no body: leave it out, or use another method")
        }
        return nil
    }
}

extension TransportBody {
    fileprivate var isNone: Bool {
        if case .none = self { true } else { false }
    }
}
