#if Tools
import Foundation
import HTTPTypes
import Hummingbird

/// `/wire/echo` and everything under it: the request as it arrived.
struct EchoRoute: Sendable {
    func add(to wire: RouterGroup<SampleContext>) {
        wire.any("echo", use: echo)
        wire.any("echo/**", use: echo)
    }

    @Sendable private func echo(_ request: Request, _ context: SampleContext) async throws -> Response {
        let body = try await context.body(of: request)
        return try Response(headers: .uncacheable, json: Echo(request, body))
    }
}

private struct Echo: Encodable {
    let method: String
    /// Path and query, before any decoding.
    let target: String
    /// Pairs of name and value. `Host` comes first wherever it stood: the HTTP library keeps it apart.
    let headers: [[String]]
    /// Base64.
    let body: Data

    init(_ request: Request, _ body: Data) {
        let host = request.head.authority.map { [["Host", $0]] } ?? []
        method = request.method.rawValue
        target = request.head.path ?? ""
        headers = host + request.headers.map { [$0.name.rawName, $0.value] }
        self.body = body
    }
}
#endif
