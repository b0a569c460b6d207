import Foundation
import HTTPTypes

/// What two requests must have in common to share a flight: all that the server is asked, on whose behalf, and all that
/// becomes of the answer; but what each makes of it is its own.
///
/// The headers are those that are sent, credentials and validators among them: a request that asks without conditions
/// shares none with one that has them, nor one user with another.
struct FlightKey: Hashable, Sendable {
    let key: RequestKey
    private let method: HTTPRequest.Method
    private let url: String
    private let headers: HTTPFields
    private let body: Data?
    private let timeout: Duration?
    private let retry: RetryPolicy
    private let bodyLimit: Int?
    private let lane: Lane
    private let tags: Set<String>

    /// `nil` where the request is sent for nobody else: its body is made piece by piece.
    init?(
        _ key: RequestKey,
        _ request: TransportRequest,
        retry: RetryPolicy,
        bodyLimit: Int? = nil,
        lane: Lane,
        tags: Set<String>
    ) {
        switch request.body {
        case .none: body = nil
        case .bytes(let data): body = data
        case .stream: return nil
        }
        self.bodyLimit = bodyLimit
        (self.key, self.retry, self.lane, self.tags) = (key, retry, lane, tags)
        (method, url, headers, timeout) = (request.method, request.url, request.headers, request.timeout)
    }

    // The rest is hardly ever another where this is the same.
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
