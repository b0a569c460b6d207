import HTTPTypes

/// A content coding that Diamond removes (RFC 9110 section 8.4.1).
enum ContentCoding: Sendable {
    case gzip, deflate

    /// The maximum number of codings of a body, the same as in libcurl. Each costs time and memory.
    static let mostOfOneBody = 5

    /// The codings that a request accepts if it names none itself. `br` and `zstd` are left out, because nothing would
    /// check that their data is complete.
    static let accepted = "gzip, deflate"

    /// - Parameter name: in lower case.
    private init?(_ name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }

    /// Returns the codings of a head, in the order in which the server applied them; `nil` if it names none, an unknown
    /// one, or too many. Then the body is passed on undecoded with its `Content-Encoding`. `identity` is ignored.
    static func known(in headers: HTTPFields) -> [ContentCoding]? {
        guard headers.contains(.contentEncoding), let value = headers[.contentEncoding] else { return nil }
        let names = value.listElements.filter { !$0.isEmpty && $0 != "identity" }
        let codings = names.compactMap(ContentCoding.init)
        guard !codings.isEmpty, codings.count == names.count, codings.count <= mostOfOneBody else { return nil }
        return codings
    }
}

extension HTTPFields {
    /// The fields without those that describe the coded body, for a decoded body.
    var withoutCoding: HTTPFields {
        var fields = self
        fields[.contentEncoding] = nil
        fields[.contentLength] = nil
        return fields
    }

    /// Whether the body has a transfer coding other than `chunked`. No transport requests one, so a server must not
    /// send it (RFC 9112 section 7.4), and the body's end would be unknown.
    var hasUnrequestedTransferCoding: Bool {
        contains { field in
            field.name == .transferEncoding
                && field.value.listElements.contains { !["", "chunked", "identity"].contains($0) }
        }
    }
}

extension TransportRequest {
    /// Whether the transport removes content codings: not if the request names codings itself, asks for a range, which
    /// counts coded bytes, or has ``passesCoding``.
    var isDecoded: Bool { !passesCoding && namesNoCoding && !headers.contains(.range) }

    /// Whether the transport requests content codings.
    var requestsCodings: Bool { isDecoded && !headers.contains(.acceptEncoding) }

    /// Whether the request names no coding itself. `identity` does not count.
    var namesNoCoding: Bool { headers[.acceptEncoding].map { $0.lowercased() == "identity" } ?? true }

    /// Whether the response may have a body (RFC 9112 section 6.3, item 1).
    func mayHaveBody(status: Int) -> Bool { method != .head && status != 204 && status != 304 }
}

/// The growth of a body during decoding. Growth beyond a limit indicates a decompression bomb.
struct Expansion: Sendable {
    /// The highest ratio of decoded bytes to bytes on the wire. Deflate itself ends at 1032; JSON of thousands of equal
    /// rows stays below 100.
    static let highestRatio = 250
    /// The number of decoded bytes up to which the ratio is not checked.
    static let allowance = 4 << 20

    private(set) var decoded = 0

    mutating func add(_ count: Int) { decoded += count }

    /// Whether the body has grown beyond the limit.
    ///
    /// - Parameter encoded: the number of bytes received over the wire.
    func isBomb(of encoded: Int) -> Bool { decoded > max(Self.allowance, encoded * Self.highestRatio) }

    static let reason =
        "the body grows to more than \(highestRatio) times its bytes on the wire: do not trust the server, "
        + "or ask for the coding identity"
}
