package import Diamond
import DiamondTesting
import Foundation
import HTTPTypes

/// A resource with a variant for each kind. Its number, the kind and a version determine a body. The version is the
/// entity tag.
package struct VariantSample: Sendable {
    package static let numbers = 0..<12
    package static let kinds = 0..<6

    package var number: Int
    package var kind: Int

    package init(number: Int, kind: Int) {
        self.number = number
        self.kind = kind
    }

    private var size: Int { [10, 1000, 70_000, 300_000][number % 4] }

    /// The requested ranges of the resource; `nil` for the whole.
    package var ranges: [ClosedRange<Int>?] { [nil, 0...size / 2, size / 2...size - 1, size / 4...size / 3] }

    package func request(_ range: ClosedRange<Int>? = nil) -> Request {
        var request = Request("http://variants/\(number)")
        request.headers[Self.kindName] = "\(kind)"
        request.headers[.range] = range.map { "bytes=\($0.lowerBound)-\($0.upperBound)" }
        return request
    }

    /// Returns the server's response to a request.
    package static func response(to request: TransportRequest, version: UInt8) -> TransportResponse {
        guard let number = request.url.split(separator: "/").last.flatMap({ Int($0) }),
            let kind = request.headers[kindName].flatMap({ Int($0) })
        else { return .stub(status: 404, body: "") }
        let body = VariantSample(number: number, kind: kind).body(version)
        let tag = "\"\(number)-\(kind)-\(version)\""
        var headers: HTTPFields = [
            .cacheControl: "max-age=\(number % 3)", .vary: kindName.rawName, .eTag: tag,
            .contentLength: "\(body.count)",
        ]
        if request.headers[.ifNoneMatch]?.contains(tag) == true {
            return .stub(status: 304, headers: headers, body: "")
        }
        let isSame = request.headers[.ifRange].map { $0 == tag } ?? true
        guard let range = request.headers[.range].flatMap({ Self.range($0, in: body.count) }), isSame else {
            return .stub(headers: headers, body: body)
        }
        headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound)/\(body.count)"
        headers[.contentLength] = "\(range.count)"
        return .stub(status: 206, headers: headers, body: body[range])
    }

    /// Whether a response is the requested range of one version, or the whole.
    package func isSound(_ response: Response) -> Bool {
        guard let tag = response.headers[.eTag],
            let version = tag.dropLast().split(separator: "-").last.flatMap({ UInt8($0) }),
            tag == "\"\(number)-\(kind)-\(version)\""
        else { return false }
        let body = body(version)
        guard response.status == .partialContent else { return response.body == body }
        let ends = response.headers[.contentRange]?.dropFirst("bytes ".count).split { $0 == "-" || $0 == "/" }
            .compactMap { Int($0) }
        guard let ends, ends.count == 3, ends[0] <= ends[1], ends[1] < ends[2], ends[2] == body.count else {
            return false
        }
        return response.body == body[ends[0]...ends[1]]
    }

    private static func range(_ text: String, in size: Int) -> ClosedRange<Int>? {
        let ends = text.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, first < size else { return nil }
        return first...min(ends.count > 1 ? ends[1] : size - 1, size - 1)
    }

    private func body(_ version: UInt8) -> Data {
        // 251 is prime: no two chunks are equal.
        let block = Data(
            (0..<251).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &* 7 &+ kind &* 3 &+ Int(version)) })
        var body = Data(capacity: size + block.count)
        while body.count < size { body.append(block) }
        return Data(body.prefix(size))
    }

    private static let kindName = HTTPField.Name("X-Kind") ?? .accept
}
