#if Tools
import Diamond
import DiamondSQLite
import Foundation
import HTTPTypes

/// An entry of an HTTP archive that is read. Members that are not needed may be missing.
struct ImportedExchange: Decodable {
    struct Archive: Decodable {
        struct Log: Decodable { var entries: [ImportedExchange] }
        var log: Log
    }

    private struct Message: Decodable {
        struct Content: Decodable {
            var size: Int?
            var text: String?
            var encoding: String?
        }
        var method: String?
        var url: String?
        var status: Int?
        var headers: [NamedValue]?
        var postData: Content?
        var content: Content?
    }

    private var startedDateTime: String?
    private var identity: String?
    private var request: Message
    private var response: Message

    private enum CodingKeys: String, CodingKey {
        case startedDateTime, identity = "_identity", request, response
    }

    /// Fields that a browser or a connection adds, and that say nothing of what is requested.
    private static let added: Set<String> = [
        "accept-encoding", "connection", "content-length", "cookie", "dnt", "host", "origin", "priority", "referer",
        "te", "upgrade-insecure-requests", "user-agent",
    ]

    /// The request to store; `nil` if a part is masked or missing, or it is not safe.
    var storableRequest: Request? {
        guard let url = request.url, let method = request.method.flatMap({ HTTPRequest.Method($0) }),
            [.get, .query].contains(method), !url.contains(NamedValue.mask), !url.contains("%E2%80%A2")
        else { return nil }
        var stored = Request(url, method: method)
        for pair in request.headers ?? [] {
            let name = pair.name.lowercased()
            guard !name.hasPrefix(":"), !name.hasPrefix("sec-"), !Self.added.contains(name) else { continue }
            guard !pair.isMasked, let field = HTTPField.Name(pair.name) else { return nil }
            stored.headers.append(HTTPField(name: field, value: pair.value))
        }
        if let body = request.postData?.text {
            guard !body.contains(NamedValue.mask) else { return nil }
            stored.body = .bytes(Data(body.utf8), contentType: stored.headers[.contentType])
        }
        stored.identity = identity
        stored.cache = .reload
        stored.retry = .never
        return stored
    }

    /// The response as it arrives now: older by the time since it was received. `nil` if a part is masked or missing.
    func answer(at now: Date) -> TransportResponse? {
        guard let status = response.status, (100...999).contains(status) else { return nil }
        var headers = HTTPFields()
        for pair in response.headers ?? [] where !pair.name.hasPrefix(":") {
            guard let name = HTTPField.Name(pair.name) else { return nil }
            // A body in an archive has no coding, and no length of its own.
            guard name != .contentEncoding, name != .contentLength, name != .transferEncoding else { continue }
            guard !pair.isMasked else { return nil }
            headers.append(HTTPField(name: name, value: pair.value))
        }
        let elapsed = startedDateTime.flatMap { InternetTime.date($0) }.map { now.timeIntervalSince($0) } ?? 0
        let age = headers[.age].flatMap { Int64($0) } ?? 0
        headers[.age] = String(max(0, age).addingSaturating(Int64(max(0, min(elapsed, 1e9)))))
        guard let body = body(of: status, type: headers[.contentType]) else { return nil }
        return TransportResponse(
            status: HTTPResponse.Status(code: status), headers: headers, body: BodyStream(body))
    }

    /// Returns the bytes of the body; `nil` if it is masked or missing, or its charset cannot be written.
    private func body(of status: Int, type: String?) -> Data? {
        let content = response.content
        guard let text = content?.text else {
            return content?.size == 0 || [204, 205, 304].contains(status) ? Data() : nil
        }
        guard content?.encoding != "base64" else { return Data(base64Encoded: text) }
        guard !text.contains(NamedValue.mask) else { return nil }
        let parts = (type ?? "").lowercased().split(separator: "charset=", maxSplits: 1)
        let name = parts.count == 2 ? parts[1].prefix { $0 != ";" }.filter { !" \"".contains($0) } : "utf-8"
        // The text of an archive is decoded. In ASCII, all charsets of the web but UTF-16 are the same.
        switch name {
        case "utf-8", "utf8": return Data(text.utf8)
        case "iso-8859-1", "latin1": return text.data(using: .isoLatin1)
        default: return name.hasPrefix("utf-16") ? nil : text.data(using: .ascii)
        }
    }
}

/// A transport that answers each request with the response that was set last, and sends nothing.
final class ArchiveTransport: Transport {
    private let next = Guarded<TransportResponse?>(nil)

    func set(_ response: TransportResponse) { next.withLock { $0 = response } }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        guard let response = next.withLock({ $0.take() }) else {
            throw TransportError(.closed, "the archive has one response for each request", serverMayHaveActed: false)
        }
        return response
    }

    func close() async {}
}
#endif
