import DiamondSQLite

/// Validates and decodes a response for one caller, once.
///
/// The caller that has started an exchange looks at its response before the response is stored, and takes it afterwards. The
/// last verdict is kept meanwhile, so that a response is transformed and decoded once.
final class ResponseHandler: Sendable {
    /// Takes a response, as interceptors have left it, and throws why it is refused.
    ///
    /// - Returns: the decoded value; `nil` where the caller keeps it itself.
    typealias Take = @Sendable (Response) throws(ConnectionError) -> (any Sendable)?

    private struct Verdict {
        /// The response as it came.
        let response: Response
        let outcome: Result<Response, ConnectionError>
        var value: (any Sendable)?
    }

    private let verdict = Guarded<Verdict?>(nil)
    private let take: Take
    /// Does the same without a trace, for a response that the caller does not get.
    private let look: Take

    /// - Parameter look: does the same as `take` without a trace; `nil` where `take` leaves none.
    init(look: Take? = nil, _ take: @escaping Take) {
        self.take = take
        self.look = look ?? take
    }

    /// The handler for work in the background.
    var withoutTrace: ResponseHandler { ResponseHandler(look) }

    /// The value of the response that was taken last.
    var value: (any Sendable)? { verdict.withLock { $0?.value } }

    /// Returns the response as the caller gets it.
    ///
    /// - Parameter response: the response as it came from a server or from the cache.
    func taken(_ response: Response, by interceptors: [any Interceptor]) async throws(ConnectionError) -> Response {
        if let known = verdict.withLock({ $0?.response == response ? $0?.outcome : nil }) { return try known.get() }
        let new = await self.verdict(of: response, interceptors)
        verdict.withLock { $0 = new }
        return try new.outcome.get()
    }

    private func verdict(of response: Response, _ interceptors: [any Interceptor]) async -> Verdict {
        do throws(ConnectionError) {
            let transformed = try await interceptors.transform(response)
            let value = try take(transformed)
            return Verdict(response: response, outcome: .success(transformed), value: value)
        } catch {
            return Verdict(response: response, outcome: .failure(error))
        }
    }
}
