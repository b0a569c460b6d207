import Foundation
import HTTPTypes

/// The properties that requests have in common when they share an exchange: all that is sent to the server, and all
/// that affects how the response is received and stored. The decoding of each caller is not among them.
///
/// The headers include credentials and validators. So conditional and unconditional requests share no exchange, and
/// neither do two users.
///
/// It is a class because it is passed on more often than compared.
final class SharedExchangeKey: Hashable, Sendable {
    private struct Parts: Equatable, Sendable {
        let method: HTTPRequest.Method
        let url: String
        let headers: HTTPFields
        let body: Data?
        let timeout: Duration?
        let retry: RetryPolicy
        let bodyLimit: Int?
        let lane: Lane
        let tags: Tags
        /// An exchange that is answered offline makes fewer attempts.
        let isAnsweredOffline: Bool

        static func == (one: Parts, other: Parts) -> Bool {
            one.method == other.method && one.url.isExactly(other.url) && one.headers.isExactly(other.headers)
                && one.body == other.body && one.timeout == other.timeout && one.retry == other.retry
                && one.bodyLimit == other.bodyLimit && one.lane == other.lane && one.tags == other.tags
                && one.isAnsweredOffline == other.isAnsweredOffline
        }
    }

    let key: RequestKey
    private let parts: Parts

    /// Creates a key; `nil` if the exchange cannot be shared, because the request's body is streamed.
    init?(
        _ key: RequestKey,
        request: TransportRequest,
        retry: RetryPolicy,
        bodyLimit: Int? = nil,
        lane: Lane,
        tags: Tags,
        isAnsweredOffline: Bool = false
    ) {
        let body: Data?
        switch request.body {
        case .none: body = nil
        case .bytes(let data): body = data
        case .stream: return nil
        }
        self.key = key
        parts = Parts(
            method: request.method, url: request.url, headers: request.headers, body: body, timeout: request.timeout,
            retry: retry, bodyLimit: bodyLimit, lane: lane, tags: tags,
            isAnsweredOffline: isAnsweredOffline)
    }

    static func == (one: SharedExchangeKey, other: SharedExchangeKey) -> Bool {
        one === other || one.key == other.key && one.parts == other.parts
    }

    // If the request keys are equal, the other parts nearly always are.
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
