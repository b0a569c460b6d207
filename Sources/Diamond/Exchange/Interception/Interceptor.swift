/// A type of the app that changes the requests, responses and errors of an engine.
///
/// ```swift
/// struct Attempts: Interceptor {
///     func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
///         request.headers[.userAgent] = "Cities/2.1 (attempt \(attempt))"
///     }
/// }
/// configuration.interceptors = [Attempts(), ResponseValidator.json]
/// ```
///
/// An engine calls all its interceptors in their order, each with the result of the one before. An error that one
/// throws ends the request with ``ConnectionError/Code-swift.struct/intercepted`` and that error as its cause. A
/// ``ConnectionError`` that one throws is passed on as it is. Many tasks call them at once, on no particular thread.
public protocol Interceptor: Sendable {
    /// Changes a request that is about to be sent, for example signs it. Called for each attempt, after the look-up in
    /// the cache, with secrets filled in, and also for the targets of redirects.
    ///
    /// The changes are not part of the request's identity. If a credential is added to a request without
    /// ``Request/identity``, the response is neither stored nor shared. These count as credentials: a header or a query
    /// parameter whose name says so or is among the ``IdentityRules/secrets``, user info in the URL, and a changed
    /// body, unless it is streamed. An added credential is not sent to another origin after a redirect, and the
    /// response is then not stored.
    ///
    /// A response that varies (`Vary`) by a changed header is not stored either, because the key does not have the
    /// value that was sent. Set a header that selects among responses, such as `Accept-Language`, on the request or in
    /// ``Engine/Configuration/headers``.
    ///
    /// Called while the request holds its permit. Be quick, and send the interceptor's own requests through another
    /// engine, or the two may wait for each other. The time of the call counts for the attempt. At
    /// ``RetryPolicy/attemptTimeout`` or ``RetryPolicy/deadline`` the call is canceled, the request ends with
    /// `timedOut`, and a later result is dropped. If neither is set, nothing limits the time, not even
    /// ``Request/timeout``.
    ///
    /// - Parameters:
    ///   - request: the request that is about to be sent.
    ///   - attempt: 1 for the first; each hop of a redirect counts from 1 again.
    func adapt(_ request: inout TransportRequest, attempt: Int) async throws

    /// Checks a response from a server, whatever its status, before it is stored. A refused response is never stored,
    /// and the error has the ``ConnectionError/response``. Not called for redirects that are followed, for
    /// confirmations (304), and for successes whose body is not collected.
    func validate(_ response: Response) async throws

    /// Changes the response that the caller gets, from a server or from the cache, before the caller (a subclass of
    /// ``Connection`` or a typed call) validates and decodes it. The stored response stays as it came.
    func transform(_ response: inout Response) async throws

    /// Changes the error that the caller gets, for example takes the message from its response's body. Called once,
    /// before any callback, also for `badStatus` and `undecodable` of a typed call, for `badStatus` of a download, and
    /// for an error that a subclass of ``Connection`` has thrown. Not called for canceled requests, nor for errors
    /// found while reading events or lines.
    func transform(_ error: inout ConnectionError) async
}

extension Interceptor {
    public func adapt(_ request: inout TransportRequest, attempt: Int) async throws {}
    public func validate(_ response: Response) async throws {}
    public func transform(_ response: inout Response) async throws {}
    public func transform(_ error: inout ConnectionError) async {}
}

extension [any Interceptor] {
    func adapt(_ request: TransportRequest, attempt: Int) async throws(ConnectionError) -> TransportRequest {
        var request = request
        for interceptor in self {
            do { try await interceptor.adapt(&request, attempt: attempt) } catch {
                throw ConnectionError(intercepted: error, effect: "the request was not sent")
            }
        }
        return request
    }

    func validate(_ response: Response) async throws(ConnectionError) {
        for interceptor in self {
            do { try await Hook.run { try await interceptor.validate(response) } } catch {
                throw ConnectionError(intercepted: error, effect: "the response was refused", response: response)
            }
        }
    }

    func transform(_ response: Response) async throws(ConnectionError) -> Response {
        let facts = response.facts
        var response = response
        for interceptor in self {
            do { try await Hook.run { try await interceptor.transform(&response) } } catch {
                let effect = "the response could not be transformed"
                throw ConnectionError(intercepted: error, effect: effect, response: response)
            }
        }
        // An interceptor may have replaced the response.
        response.facts = facts
        return response
    }

    func transform(_ error: ConnectionError) async -> ConnectionError {
        guard error.code != .cancelled else { return error }
        var error = error
        for interceptor in self { await Hook.run { await interceptor.transform(&error) } }
        return error
    }
}

extension ConnectionError {
    fileprivate init(intercepted error: any Error, effect: String, response: Response? = nil) {
        let other =
            error is CancellationError
            ? .cancelled : ConnectionError(.intercepted, "\(effect): see the cause", cause: error)
        self = error as? ConnectionError ?? other
        self.response = self.response ?? response
        if attempts.isEmpty { attempts = self.response?.attempts ?? [] }
    }
}
