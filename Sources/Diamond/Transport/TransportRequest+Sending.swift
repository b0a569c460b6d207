import HTTPTypes

/// The properties by which transports send a request.
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

    /// Whether the request may be sent again: its method is idempotent, and its body can be read again.
    var isRepeatable: Bool {
        if case .stream = body { return false }
        return method.isIdempotent
    }

    /// The request's origin for error messages: scheme, host and port.
    var originText: String { (try? RequestURL(parsing: url))?.originText ?? "" }

    /// The URL for libraries that parse it with Foundation's `URL`, with brackets escaped. If one character of a
    /// component has to be escaped, Foundation escapes the whole component again.
    var strictURL: String {
        let rest = url.utf8.dropFirst(url.hasPrefix("https://") ? 8 : 7).drop { !"/?#".utf8.contains($0) }
        let escaped = PercentEncoding.escapingIllegal(rest).flatMap { byte in
            byte == UInt8(ascii: "[") ? Array("%5B".utf8) : byte == UInt8(ascii: "]") ? Array("%5D".utf8) : [byte]
        }
        return String(decoding: url.utf8[..<rest.startIndex] + escaped, as: UTF8.self)
    }
}

extension TransportBody {
    fileprivate var isNone: Bool {
        if case .none = self { true } else { false }
    }
}
