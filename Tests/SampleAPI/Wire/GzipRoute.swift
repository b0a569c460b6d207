#if Tools
import HTTPTypes
import Hummingbird
import NIOCore

/// `/wire/gzip`: a compressed body for a client that can read it, the plain one otherwise.
struct GzipRoute: Sendable {
    private static let plain = #"{"words":["fair","fair","fair","and","fair","fair","fair"]}"#

    /// `printf '%s' "$plain" | gzip -n -9 | xxd -i`, with the text above as `plain`.
    private static let compressed: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56,
        0x2a, 0xcf, 0x2f, 0x4a, 0x29, 0x56, 0xb2, 0x8a, 0x56, 0x4a, 0x4b, 0xcc,
        0x2c, 0x52, 0xd2, 0x41, 0xa3, 0x12, 0xf3, 0x52, 0x30, 0xc4, 0xc0, 0x54,
        0x6c, 0x2d, 0x00, 0x9a, 0xf8, 0x41, 0x16, 0x3b, 0x00, 0x00, 0x00,
    ]

    func add(to wire: RouterGroup<SampleContext>) {
        wire.get("gzip", use: gzip)
    }

    @Sendable private func gzip(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        var fields: HTTPFields = [.contentType: "application/json", .vary: "Accept-Encoding"]
        guard Self.allowsGzip(request.headers[.acceptEncoding] ?? "") else {
            return Response(status: .ok, headers: fields, body: .init(byteBuffer: ByteBuffer(string: Self.plain)))
        }
        fields[.contentEncoding] = "gzip"
        return Response(status: .ok, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: Self.compressed)))
    }

    /// https://www.rfc-editor.org/rfc/rfc9110.html#section-12.5.3
    private static func allowsGzip(_ field: String) -> Bool {
        let codings = field.lowercased().filter { $0 != " " }.split(separator: ",").map { $0.split(separator: ";") }
        let coding = codings.first { $0.first == "gzip" } ?? codings.first { $0.first == "*" }
        guard let coding else { return false }
        return !coding.dropFirst().contains { $0.wholeMatch(of: #/q=0(\.0*)?/#) != nil }
    }
}
#endif
