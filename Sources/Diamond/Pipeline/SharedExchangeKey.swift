import Foundation
import HTTPTypes

/// The properties that two requests have in common when they share an exchange: all that the server is sent, and all that
/// decides what becomes of the response. How each caller decodes it does not count.
///
/// The headers are those that are sent, with credentials and validators: an unconditional request shares no exchange with a
/// conditional one, nor one user with another.
///
/// A class, because it is passed on more often than compared.
final class SharedExchangeKey: Hashable, Sendable {
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

    /// `nil` where the exchange cannot be shared, because its body is streamed.
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

    static func == (one: SharedExchangeKey, other: SharedExchangeKey) -> Bool {
        one === other || one.key == other.key && one.terms == other.terms
    }

    // Where the keys are equal, the rest nearly always is.
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
