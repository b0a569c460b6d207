#if AsyncHTTPClient
import HTTPTypes
import NIOHTTP1

/// The head of a response as async-http-client passes it.
struct HTTPClientHead {
    private let head: HTTPResponseHead

    init(_ head: HTTPResponseHead) { self.head = head }

    /// Returns the response.
    ///
    /// - Parameters:
    ///   - headers: the fields, without those of a removed coding.
    ///   - pipe: the pipe of the body.
    /// - Returns: The response; `nil` for an invalid status, which SwiftNIO accepts over HTTP/2.
    func response(headers: HTTPFields, body pipe: BodyPipe) -> TransportResponse? {
        guard let status = HTTPResponse.Status(received: status) else { return nil }
        if let length = headers[.contentLength].flatMap({ Int($0) }) { pipe.reserve(length) }
        return TransportResponse(status: status, headers: headers, body: BodyStream(pipe), version: version)
    }

    var status: Int { Int(head.status.code) }

    private var version: String {
        head.version.major < 2 ? "HTTP/\(head.version.major).\(head.version.minor)" : "HTTP/\(head.version.major)"
    }

    /// Whether SwiftNIO knows the coding. Like SwiftNIO, it reads the first coding and ignores case.
    var isCodedForClient: Bool {
        ["gzip", "deflate"].contains(head.headers[canonicalForm: "Content-Encoding"].first?.lowercased())
    }

    /// The fields that go back to a server. If SwiftNIO has replaced bytes that are not UTF-8 with U+FFFD, the value
    /// would have changed, and the field is left out.
    private static let returned: Set<HTTPField.Name> = [.contentLocation, .eTag, .location, .setCookie]

    /// The fields; `nil` if there are too many, or one has an invalid name. It must not be dropped, because it may
    /// forbid the storage.
    var fields: HTTPFields? {
        guard head.headers.count <= HTTPFields.mostReceived else { return nil }
        var fields = HTTPFields()
        for header in head.headers {
            guard let name = HTTPField.Name(header.name) else { return nil }
            // HTTP/2 has no such field (RFC 9113 section 8.2.2). SwiftNIO adds it if there is no length.
            if head.version.major > 1, name == .transferEncoding { continue }
            if Self.returned.contains(name), header.value.unicodeScalars.contains("\u{FFFD}") { continue }
            fields.append(HTTPField(name: name, value: header.value))
        }
        fields.removeVoidLength(status: status)
        return fields
    }
}
#endif
