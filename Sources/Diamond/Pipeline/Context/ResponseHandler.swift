import DiamondSQLite

/// Validates and decodes a response for one caller, once.
///
/// The caller that has started an exchange validates its response before the response is stored, and receives it
/// afterwards. The last verdict is stored meanwhile, so that a response is transformed and decoded once.
final class ResponseHandler: Sendable {
    /// Validates and decodes a response after interceptors have transformed it, and throws the reason if it refuses it.
    ///
    /// - Returns: the decoded value; `nil` if the caller stores it itself.
    typealias Handle = @Sendable (Response) throws(ConnectionError) -> (any Sendable)?

    private struct Verdict {
        /// The response before it was transformed, without its cache status.
        var response: Response
        let outcome: Result<Response, ConnectionError>
        var value: (any Sendable)?
    }

    private let verdict = Guarded<Verdict?>(nil)
    private let handle: Handle
    /// Validates without side effects, for a response that the caller does not get.
    private let preview: Handle

    /// - Parameter preview: validates like `handle`, without side effects; `nil` if `handle` has none.
    init(preview: Handle? = nil, _ handle: @escaping Handle) {
        self.handle = handle
        self.preview = preview ?? handle
    }

    /// The handler for work in the background.
    var withoutSideEffects: ResponseHandler { ResponseHandler(preview) }

    /// The value of the last response.
    var value: (any Sendable)? { verdict.withLock { $0?.value } }

    /// Returns the response as the caller gets it.
    ///
    /// - Parameter response: the response from a server or from the cache, before it is transformed.
    func handle(_ response: Response, with interceptors: [any Interceptor]) async throws(ConnectionError) -> Response {
        // The cache status changes when the response is stored.
        var same = response
        same.cacheStatus = nil
        if let known = verdict.withLock({ [same] in $0?.response == same ? $0?.outcome : nil }) {
            var handled = try known.get()
            handled.cacheStatus = response.cacheStatus
            return handled
        }
        var new = await verdict(on: response, with: interceptors)
        new.response = same
        verdict.withLock { [new] in $0 = new }
        return try new.outcome.get()
    }

    private func verdict(on response: Response, with interceptors: [any Interceptor]) async -> Verdict {
        do throws(ConnectionError) {
            let transformed = try await interceptors.transform(response)
            let value = try handle(transformed)
            return Verdict(response: response, outcome: .success(transformed), value: value)
        } catch {
            return Verdict(response: response, outcome: .failure(error))
        }
    }
}
