import DiamondSQLite

/// What one who asks makes of an answer, and what it has against it.
///
/// Whoever opens an exchange looks at its answer before that is stored, and takes it after; what was said of the last one is
/// kept meanwhile, so that it is transformed and decoded once.
final class Acceptance: Sendable {
    /// Throws what is to be said against a response, as interceptors have left it.
    ///
    /// - Returns: what it has become; `nil` where that is kept elsewhere.
    typealias Take = @Sendable (Response) throws(ConnectionError) -> (any Sendable)?

    private struct Opinion {
        /// As it came.
        let response: Response
        let outcome: Result<Response, ConnectionError>
        var value: (any Sendable)?
    }

    private let opinion = Guarded<Opinion?>(nil)
    private let take: Take
    /// The same without a trace, for an answer that the one who asks does not get.
    private let look: Take

    /// - Parameter look: `nil` where `take` leaves no trace.
    init(look: Take? = nil, _ take: @escaping Take) {
        self.take = take
        self.look = look ?? take
    }

    /// For what goes on behind the answer.
    var withoutTrace: Acceptance { Acceptance(look) }

    /// What the response has become that was taken last.
    var value: (any Sendable)? { opinion.withLock { $0?.value } }

    /// What the one who asks gets.
    ///
    /// - Parameter response: as it came, from a server or from the cache.
    func taken(_ response: Response, by interceptors: [any Interceptor]) async throws(ConnectionError) -> Response {
        if let known = opinion.withLock({ $0?.response == response ? $0?.outcome : nil }) { return try known.get() }
        let new = await self.opinion(of: response, interceptors)
        opinion.withLock { $0 = new }
        return try new.outcome.get()
    }

    private func opinion(of response: Response, _ interceptors: [any Interceptor]) async -> Opinion {
        do throws(ConnectionError) {
            let transformed = try await interceptors.transform(response)
            let value = try take(transformed)
            return Opinion(response: response, outcome: .success(transformed), value: value)
        } catch {
            return Opinion(response: response, outcome: .failure(error))
        }
    }
}
