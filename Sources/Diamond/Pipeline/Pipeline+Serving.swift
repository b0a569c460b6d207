import Foundation
import HTTPTypes

/// Answers from what is stored.
extension Pipeline {
    /// What lies in memory and may be served as it is, where no code of the app has a say: found without a wait, and within
    /// what a change of threads alone would cost several times.
    ///
    /// - Returns: `nil` where it is another case, also one that fails.
    func atHand(_ request: Request) -> Response? {
        guard let cache, isPlain(request), let passage = try? passageAtOnce(of: request),
            let identity = passage.identity,
            let stored = cache.findAtHand(identity.key, request: identity.canonicalForm),
            case .serve(let source) = CacheDecision(now: now(), stored: stored, policy: passage.policy),
            redirectLimit == 0 || !(300..<400).contains(stored.status)
        else { return nil }
        return serve(stored, from: source, passage)
    }

    /// Whether nobody is asked or told about a request that the cache can answer, and its key is made of a few bytes.
    private func isPlain(_ request: Request) -> Bool {
        wire.interceptors.isEmpty && wire.cookies == nil && request.body == nil && !request.isKept
            && !lanes.isSerial(request.lane) && !activity.isObserved
    }

    func serve(
        _ stored: StoredResponse,
        from source: Response.Source,
        _ passage: Passage,
        after attempts: [Attempt] = []
    ) -> Response {
        activity.report(.hit(source))
        if let key = passage.identity?.key { cache?.count(source, of: stored, under: key) }
        let isHead = passage.wire.method == .head
        var response = stored.response(from: source, at: now(), url: passage.url, isHead: isHead)
        response.attempts = attempts
        return response
    }
}
