import HTTPTypes

/// A content coding that Diamond removes (RFC 9110 section 8.4.1).
enum ContentCoding: Sendable {
    case gzip, deflate

    /// Codings of one body at most, as libcurl has it: each costs time and memory.
    static let mostOfOneBody = 5

    /// The codings that a request asks for if it names none itself. `br` and `zstd` are not among them: their ends are
    /// not checked.
    static let accepted = "gzip, deflate"

    /// - Parameter name: in lower case.
    private init?(_ name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }

    /// The codings that a head names, in the order in which the server applied them; `nil` where it names none, or one that
    /// is not known. Then the body is handed on as it came, and `Content-Encoding` is kept. `identity` beside others says
    /// nothing.
    static func known(in headers: HTTPFields) -> [ContentCoding]? {
        guard headers.contains(.contentEncoding), let value = headers[.contentEncoding] else { return nil }
        let names = value.listElements.filter { !$0.isEmpty && $0 != "identity" }
        let codings = names.compactMap(ContentCoding.init)
        guard !codings.isEmpty, codings.count == names.count, codings.count <= mostOfOneBody else { return nil }
        return codings
    }
}

extension HTTPFields {
    /// The fields without those that describe the coded body, once its coding is removed.
    var withoutCoding: HTTPFields {
        var fields = self
        fields[.contentEncoding] = nil
        fields[.contentLength] = nil
        return fields
    }

    /// Whether the body has a transfer coding beside chunks. No transport asks for one, so that none may come (RFC 9112
    /// section 7.4), and nothing would tell its end.
    var hasUnaskedTransferCoding: Bool {
        contains { field in
            field.name == .transferEncoding
                && field.value.listElements.contains { !["", "chunked", "identity"].contains($0) }
        }
    }
}

extension TransportRequest {
    /// Whether the transport removes content codings. A request that names codings itself gets the body as it comes, and so
    /// does one for a range, which counts coded bytes.
    var isDecoded: Bool { asksForNoCoding && !headers.contains(.range) }

    /// Whether the transport asks for content codings.
    var takesCodings: Bool { isDecoded && !headers.contains(.acceptEncoding) }

    /// Whether it names no coding itself; `identity` is none.
    var asksForNoCoding: Bool { headers[.acceptEncoding].map { $0.lowercased() == "identity" } ?? true }

    /// Whether a body may follow the head of an answer (RFC 9112 section 6.3, item 1).
    func mayHaveBody(status: Int) -> Bool { method != .head && status != 204 && status != 304 }
}
