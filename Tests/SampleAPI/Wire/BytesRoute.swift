#if Tools
import Foundation
import HTTPTypes
import Hummingbird

/// `/wire/bytes/{n}`: a body of any size, whole or in part.
struct BytesRoute: Sendable {
    func add(to wire: RouterGroup<SampleContext>) {
        wire.get("bytes/{n}", use: bytes)
    }

    @Sendable private func bytes(_ request: Request, _ context: SampleContext) async throws -> Response {
        let length = try context.number("n", in: 0...(1 << 30))
        var arguments = context.arguments
        let seed = try arguments.number("seed", in: 0...255) ?? 0
        // HEAD has no body whose chunks could end it, so it always tells the length.
        let isChunked = try arguments.flag("chunked") && request.method != .head
        try arguments.finish()

        let tag = EntityTag(opaque: "\(length)-\(seed)")
        var response = response(to: request, tag, length, Pattern(seed: seed), isChunked)
        response.headers[.acceptRanges] = "bytes"
        guard response.status != .rangeNotSatisfiable else { return response }
        response.headers[.eTag] = tag.text
        response.headers[.cacheControl] = "max-age=60"
        return response
    }

    private func response(
        to request: Request,
        _ tag: EntityTag,
        _ length: Int,
        _ pattern: Pattern,
        _ isChunked: Bool
    ) -> Response {
        guard !Preconditions(request.headers).isUnchanged(tag, .distantFuture) else {
            return Response(status: .notModified)
        }
        switch ByteRange(range(of: request, tag), of: length) {
        case .whole:
            return pattern.response(.ok, 0..<length, isChunked)
        case .part(let range):
            var response = pattern.response(.partialContent, range, isChunked)
            response.headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
            return response
        case .unsatisfiable:
            return Response(status: .rangeNotSatisfiable, headers: [.contentRange: "bytes */\(length)"])
        }
    }

    /// Nil when `If-Range` names something else than the current body: then the whole is sent.
    /// https://www.rfc-editor.org/rfc/rfc9110.html#section-13.1.5
    ///
    /// A range means nothing but in a GET: https://www.rfc-editor.org/rfc/rfc9110.html#section-14.2
    private func range(of request: Request, _ tag: EntityTag) -> String? {
        guard request.method == .get else { return nil }
        guard let condition = request.headers[.ifRange] else { return request.headers[.range] }
        let isCurrent = EntityTag.list(condition).contains(where: tag.matchesStrongly)
        return isCurrent ? request.headers[.range] : nil
    }
}

extension Pattern {
    fileprivate func response(_ status: HTTPResponse.Status, _ range: Range<Int>, _ isChunked: Bool) -> Response {
        let body = ResponseBody(contentLength: isChunked ? nil : range.count) { writer in
            try await write(range, to: &writer)
            try await writer.finish(nil)
        }
        return Response(status: status, headers: [.contentType: "application/octet-stream"], body: body)
    }
}
#endif
