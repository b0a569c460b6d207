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
    let key: RequestKey
    // Neither the request's plan nor its caller: a key may be released under the lock of the flights.
    private let request: TransportRequest
    private let resolved: ResolvedRequest
    private let body: Data?
    private let retry: RetryPolicy
    /// Whether a stored response is served if the server cannot be reached. The exchange makes fewer attempts then.
    private let isAnsweredOffline: Bool

    /// Creates a key; `nil` if the exchange cannot be shared, because the request's body is streamed.
    init?(_ key: RequestKey, of plan: ExchangePlan, retry: RetryPolicy, isAnsweredOffline: Bool) {
        switch plan.request.body {
        case .none: body = nil
        case .bytes(let data): body = data
        case .stream: return nil
        }
        self.key = key
        request = plan.request
        resolved = plan.context.resolved
        self.retry = retry
        self.isAnsweredOffline = isAnsweredOffline
    }

    static func == (one: SharedExchangeKey, other: SharedExchangeKey) -> Bool {
        one === other
            || one.key == other.key && one.isSent(like: other) && one.resolved.isReceived(like: other.resolved)
                && one.retry == other.retry && one.isAnsweredOffline == other.isAnsweredOffline
    }

    private func isSent(like other: SharedExchangeKey) -> Bool {
        request.method == other.request.method && request.url.isExactly(other.request.url)
            && request.headers.isExactly(other.request.headers) && body == other.body
            && request.timeout == other.request.timeout
    }

    // If the request keys are equal, the other parts nearly always are.
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension ResolvedRequest {
    /// Whether the response is received and stored like that to another request.
    fileprivate func isReceived(like other: ResolvedRequest) -> Bool {
        bodyLimit == other.bodyLimit && permitScope.lane == other.permitScope.lane && tags == other.tags
    }
}
