#if Tools
import HTTPTypes
import Hummingbird
import NIOCore

/// `/wire/upload`: what arrived of a body, however large; none of it is kept.
struct UploadRoute: Sendable {
    func add(to wire: RouterGroup<SampleContext>) {
        wire.post("upload", use: upload)
        wire.put("upload", use: upload)
    }

    @Sendable private func upload(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        try await context.allowBody(of: request)
        var receipt = Receipt(request.headers)
        for try await buffer in request.body {
            receipt.add(buffer)
        }
        return try Response(headers: .uncacheable, json: receipt)
    }
}

private struct Receipt: Encodable {
    private var bytes = 0
    private var checksum = Checksum()
    private let contentType: String?
    private let contentLength: Int?

    init(_ fields: HTTPFields) {
        contentType = fields[.contentType]
        contentLength = fields[.contentLength].flatMap { Int($0) }
    }

    mutating func add(_ buffer: ByteBuffer) {
        bytes += buffer.readableBytes
        buffer.withUnsafeReadableBytes { checksum.update($0) }
    }

    private enum CodingKeys: String, CodingKey {
        case bytes
        case checksum
        case contentType
        case contentLength
    }

    /// Written out, because the derived form leaves out what is nil, and tests look for `null`.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bytes, forKey: .bytes)
        try container.encode(checksum.hex, forKey: .checksum)
        try container.encode(contentType, forKey: .contentType)
        try container.encode(contentLength, forKey: .contentLength)
    }
}
#endif
