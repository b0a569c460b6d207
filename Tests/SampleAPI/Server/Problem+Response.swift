#if Tools
import Foundation
import HTTPTypes
import Hummingbird
import NIOHTTP1

extension Problem {
    /// The problem that an error amounts to; the framework's own errors keep their status.
    init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let error as HTTPError:
            self.init(code: error.status.code, detail: error.body ?? error.status.reasonPhrase)
        case let error as any HTTPResponseError:
            self.init(code: error.status.code, detail: error.status.reasonPhrase)
        default: self.init(code: 500, detail: "\(error)")
        }
    }

    func response() throws -> Response {
        let status = HTTPResponse.Status(code: code)
        // These have no body; bytes after their head would be read as the next response.
        guard ![204, 205, 304].contains(code) else { return Response(status: status) }
        var response = try Response(status: status, json: document)
        response.headers[.contentType] = "application/problem+json"
        response.headers[.retryAfter] = retryAfter.map(String.init)
        return response
    }

    private var document: Document {
        let title = HTTPResponseStatus(statusCode: code).reasonPhrase
        return Document(type: "about:blank", title: title, status: code, detail: detail, parameter: parameter)
    }

    private struct Document: Encodable {
        let type: String
        let title: String
        let status: Int
        let detail: String
        let parameter: String?
    }
}
#endif
