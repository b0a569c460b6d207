import DiamondTestSupport
import Foundation
import HTTPTypes

@testable import Diamond

/// The request of one connection to a ``ChaosServer``, and how it may end.
struct ChaosPlan: Sendable {
    /// The resource that is requested, by one or by several connections.
    struct Target: Sendable {
        var behavior: ChaosServer.Behavior
        var number: Int
        var size: Int
    }

    private enum ExpectedResult { case whole, broken, either }

    /// The number of the connection.
    var number: Int
    var target: Target
    var method: HTTPRequest.Method
    /// Whether a POST may be sent again.
    var isRepeatable: Bool
    var policy: CachePolicy
    var lane: Lane
    var isCanceled: Bool

    /// Whether the server may receive the request once at most, whatever breaks.
    var isOnce: Bool { method == .post && !isRepeatable }

    func request(to server: ChaosServer) -> Request {
        let url = server.url(target.behavior, target.number, size: target.size)
        var request = Request(url, method: method, cache: policy)
        request.lane = lane
        if method == .post || method == .put {
            request.body = .bytes(Data(ChaosServer.upload(target.number, size: target.size)))
        }
        if method == .post, isRepeatable { request.headers[.idempotencyKey] = "\(number)" }
        // A response that never ends is canceled, or ends by its time limit.
        if target.behavior == .silent {
            request.retry = RetryPolicy(attempts: 1, attemptTimeout: .milliseconds(50))
        }
        return request
    }

    private var course: ExpectedResult {
        let isWhole = ChaosServer.Behavior.whole.contains(target.behavior)
        // Where a body breaks, its head may have arrived.
        if method == .head, !isWhole { return ChaosServer.Behavior.mute.contains(target.behavior) ? .broken : .either }
        if isOnce, target.behavior == .resumable { return .broken }
        return isWhole ? .whole : .broken
    }

    /// Describes what is wrong with the result; `nil` where nothing is.
    func mistake(in result: Result<Response, ConnectionError>) -> String? {
        switch result {
        case .success(let response): mistake(in: response)
        case .failure(let error): mistake(in: error)
        }
    }

    private func mistake(in response: Response) -> String? {
        if response.status == .serviceUnavailable, target.behavior == .recovering { return nil }
        guard response.status == .ok, course != .broken else {
            return "\(self) was answered with \(response.status), \(response.body.count) bytes"
        }
        let body = method == .head ? [] : ChaosServer.body(target.number, size: target.size)
        return Array(response.body) == body ? nil : "\(self) has another body"
    }

    private func mistake(in error: ConnectionError) -> String? {
        if error.code == .cancelled { return isCanceled ? nil : "\(self) was canceled by nobody" }
        // A leftover on a reused connection may have met it, and a request that may have been sent is not sent again.
        if isOnce, error.code == .connectionLost { return nil }
        // Too many requests broke lately: nothing is retried.
        if error.attempts.last?.reason?.code == .budgetEmpty { return nil }
        return course == .whole ? "\(self): \(error.code) \(error.attempts)" : nil
    }
}

/// Creates plans, each different from the others.
struct ChaosPlanner {
    private var random: SplitMix
    /// The resources that other connections may request, too.
    private var targets: [ChaosPlan.Target] = []

    init(seed: UInt64) { random = SplitMix(state: seed) }

    private static let methods: [HTTPRequest.Method] = [
        .get, .get, .get, .get, .get, .get, .head, .post, .post, .put, .delete,
    ]
    private static let policies: [CachePolicy] = [
        .automatic, .automatic, .automatic, .cacheElseNetwork, .networkElseCache, .staleWhileRevalidate, .revalidate,
        .reload, .noStore,
    ]
    private static let lanes: [Lane] = [.default, .default, .default, "images", "api"]

    mutating func plan(_ number: Int) -> ChaosPlan {
        let method = one(of: Self.methods)
        var plan = ChaosPlan(
            number: number, target: newTarget(number), method: method, isRepeatable: random.below(2) == 0,
            policy: [.get, .head].contains(method) ? one(of: Self.policies) : .automatic, lane: one(of: Self.lanes),
            isCanceled: random.below(6) == 0)
        // The number of POST requests must be known for each connection by itself.
        guard !plan.isOnce else { return plan }
        if random.below(3) == 0, !targets.isEmpty { plan.target = one(of: targets) }
        targets.append(plan.target)
        return plan
    }

    private mutating func newTarget(_ number: Int) -> ChaosPlan.Target {
        let size = random.below(3) == 0 ? 2 + random.below(100) : 20_000
        return ChaosPlan.Target(behavior: one(of: ChaosServer.Behavior.allCases), number: number, size: size)
    }

    private mutating func one<Choice>(of choices: [Choice]) -> Choice { choices[random.below(choices.count)] }
}
