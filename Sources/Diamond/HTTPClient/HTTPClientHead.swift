#if AsyncHTTPClient
import HTTPTypes
import NIOHTTP1

/// The head of a response as async-http-client hands it over.
struct HTTPClientHead {
    private let head: HTTPResponseHead

    init(_ head: HTTPResponseHead) { self.head = head }

    /// - Parameter hidesCoding: whether a coding that the client knows is not told of.
    /// - Returns: `nil` where its status is none, which SwiftNIO lets pass over HTTP/2.
    func response(with pipe: BodyPipe, hidesCoding: Bool) -> TransportResponse? {
        guard let status = HTTPResponse.Status(received: Int(head.status.code)) else { return nil }
        if let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }) { pipe.reserve(length) }
        return TransportResponse(
            status: status,
            headers: fields(withoutCoding: hidesCoding && isCoded),
            body: BodyStream(pipe),
            version: version
        )
    }

    var isBodyless: Bool { head.status == .notModified || head.status == .noContent }

    private var version: String {
        head.version.major < 2 ? "HTTP/\(head.version.major).\(head.version.minor)" : "HTTP/\(head.version.major)"
    }

    // As SwiftNIO looks at it, in any case of letters.
    private var isCoded: Bool {
        ["gzip", "deflate"].contains(head.headers[canonicalForm: "Content-Encoding"].first?.lowercased())
    }

    /// What goes back to a server. Where SwiftNIO has put U+FFFD in place of bytes that are no UTF-8, it would be something
    /// else, and is left out.
    private static let returned: Set<HTTPField.Name> = [.contentLocation, .eTag, .location, .setCookie]

    private func fields(withoutCoding hidesCoding: Bool) -> HTTPFields {
        var fields = HTTPFields()
        for header in head.headers.prefix(HTTPFields.mostReceived) {
            guard let name = HTTPField.Name(header.name) else { continue }
            if hidesCoding, name == .contentEncoding || name == .contentLength { continue }
            // HTTP/2 has none (RFC 9113 section 8.2.2): SwiftNIO adds it where no length is told.
            if head.version.major > 1, name == .transferEncoding { continue }
            if Self.returned.contains(name), header.value.unicodeScalars.contains("\u{FFFD}") { continue }
            fields.append(HTTPField(name: name, value: header.value))
        }
        return fields
    }
}
#endif
