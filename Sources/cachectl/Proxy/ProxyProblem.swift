#if Tools
import Diamond
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// A failure that the proxy answers itself, with a body in `application/problem+json` (RFC 9457).
struct ProxyProblem: Error {
    let status: HTTPResponse.Status
    /// The explanation for the client.
    let detail: String
    /// The explanation for the log, which may name the origin.
    let reason: String
    /// Further fields of the response.
    var fields: HTTPFields = [:]
    /// Whether the connection is closed, because the proxy cannot know where the next request begins.
    var closes = false

    init(
        _ status: HTTPResponse.Status, _ detail: String, reason: String? = nil, fields: HTTPFields = [:],
        closes: Bool = false
    ) {
        self.status = status
        self.detail = detail
        self.reason = reason ?? detail
        self.fields = fields
        self.closes = closes
    }

    /// A request that is malformed, or whose end is ambiguous.
    static func badRequest(_ detail: String) -> ProxyProblem { ProxyProblem(.badRequest, detail, closes: true) }

    /// A request whose head is too large.
    static func tooLarge(_ status: HTTPResponse.Status, _ detail: String) -> ProxyProblem {
        ProxyProblem(status, detail, closes: true)
    }

    /// A request of another version than HTTP/1.
    static let version = ProxyProblem(.httpVersionNotSupported, "the version is not HTTP/1", closes: true)

    /// A connection beyond the maximum number of clients.
    static let tooManyClients = ProxyProblem(
        .serviceUnavailable, "the proxy has its maximum number of clients", fields: [.retryAfter: "1"], closes: true)

    /// A client that sends its request too slowly.
    static let slowClient = ProxyProblem(.requestTimeout, "the request did not arrive in time", closes: true)

    /// A request that this proxy has forwarded to itself, over other proxies (RFC 5842 section 7.2).
    static let loop = ProxyProblem(
        HTTPResponse.Status(code: 508, reasonPhrase: "Loop Detected"), "the request has passed this proxy before")

    /// A request that only the cache may answer, and for which nothing usable is stored.
    static let nothingStored = ProxyProblem(
        .gatewayTimeout, "nothing stored may be served, and the server may not be asked")

    /// Creates the problem of a forwarded request. Only the log gets the error, because it may name the origin.
    init(_ error: ConnectionError) {
        let reason = error.message
        switch error.code {
        case .timedOut: self.init(.gatewayTimeout, "the server did not answer in time", reason: reason)
        case .badRequest: self.init(.badRequest, "the request cannot be forwarded", reason: reason)
        default: self.init(.badGateway, "the server has not answered as HTTP requires", reason: reason)
        }
    }

    /// Creates the problem of a request that cannot be read; `nil` for an error of the connection.
    init?(reading error: any Error) {
        if let problem = error as? ProxyProblem {
            self = problem
            return
        }
        guard let error = error as? HTTPParserError else { return nil }
        switch error {
        case .headerOverflow: self.init(.requestHeaderFieldsTooLarge, "the head is too large", closes: true)
        case .invalidMethod: self = .badRequest("the method is malformed")
        case .invalidVersion: self = .version
        case .invalidEOFState, .closedConnection: return nil
        default: self = .badRequest("the request is malformed")
        }
    }

    var response: Response {
        let body: JSONObject = [
            "type": "about:blank", "status": status.code, "title": status.reasonPhrase, "detail": detail,
        ]
        var headers = fields
        headers[.contentType] = "application/problem+json"
        return Response(
            status: status, headers: headers, body: Data((Output.text(of: body) + "\n").utf8), source: .generated)
    }

}

/// An error in reading a request, and what is known of the request.
struct RequestFailure: Error {
    let cause: any Error
    /// The method; empty if it is unknown.
    let method: String
    /// The head; `nil` if it could not be read.
    let head: HTTPRequestHead?

    init(_ error: any Error, method: String = "", head: HTTPRequestHead? = nil) {
        let known = error as? RequestFailure
        cause = known?.cause ?? error
        self.head = head ?? known?.head
        self.method = head?.method.rawValue ?? known?.method ?? method
    }

    /// The problem that answers the request; `nil` for an error of the connection.
    var problem: ProxyProblem? { ProxyProblem(reading: cause) }

    /// Whether the answer has no body.
    var isForHead: Bool { method == "HEAD" }
}

extension Failure {
    /// Returns the system's words for a failed call of SwiftNIO; the text of another error.
    static func text(of error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return String(cString: strerror(error.errnoCode)).lowercased()
    }
}
#endif
