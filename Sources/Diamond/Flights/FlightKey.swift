import Foundation
import HTTPTypes

/// What two requests must have in common to share a flight: all that the server is asked, on whose behalf, and all that
/// becomes of the answer; but what each makes of it is its own.
///
/// The headers are those that are sent, credentials and validators among them: a request that asks without conditions
/// shares none with one that has them, nor one user with another.
///
/// A class, because it is handed on more often than compared, and compared with itself most often.
final class FlightKey: Hashable, Sendable {
    private struct Terms: Equatable, Sendable {
        let method: HTTPRequest.Method
        let url: String
        let headers: HTTPFields
        let body: Data?
        let timeout: Duration?
        let retry: RetryPolicy
        let bodyLimit: Int?
        let lane: Lane
        let tags: Set<String>

        static func == (one: Terms, other: Terms) -> Bool {
            one.method == other.method && one.url.isExactly(other.url) && one.headers.isExactly(other.headers)
                && one.body == other.body && one.timeout == other.timeout && one.retry == other.retry
                && one.bodyLimit == other.bodyLimit && one.lane == other.lane && one.tags.isExactly(other.tags)
        }
    }

    let key: RequestKey
    private let terms: Terms

    /// `nil` where the request is sent for nobody else: its body is made piece by piece.
    init?(
        _ key: RequestKey,
        _ request: TransportRequest,
        retry: RetryPolicy,
        bodyLimit: Int? = nil,
        lane: Lane,
        tags: Set<String>
    ) {
        let body: Data?
        switch request.body {
        case .none: body = nil
        case .bytes(let data): body = data
        case .stream: return nil
        }
        self.key = key
        terms = Terms(
            method: request.method, url: request.url, headers: request.headers, body: body, timeout: request.timeout,
            retry: retry, bodyLimit: bodyLimit, lane: lane, tags: tags)
    }

    static func == (one: FlightKey, other: FlightKey) -> Bool {
        one === other || one.key == other.key && one.terms == other.terms
    }

    // The rest is hardly ever another where this is the same.
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
