/// What an app adds to every request of an engine on its way, and asks of every answer.
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
/// All that an engine has are called in their order, each with what the one before has left. What one throws ends the
/// request with ``ConnectionError/Code-swift.struct/intercepted`` and the error as its cause, or with that very error
/// where it is a ``ConnectionError``. They are called by many tasks at once, on no particular thread.
public protocol Interceptor: Sendable {
    /// Changes what is about to be sent, such as to sign it: for each attempt, after the cache was asked, with secrets
    /// filled in. What it adds is no part of the request's identity: an answer to a credential that is added to a request
    /// without ``Request/identity`` is neither stored nor shared. A credential is a header or a parameter of the query whose
    /// name says so, or is among the ``IdentityRules``' secrets, and a body that was changed. Called also for the targets of
    /// redirects; those of another origin are sent no credential that is added, and their answers are not stored where one
    /// would have been.
    ///
    /// An answer that varies (`Vary`) by a header that this has changed is not stored either, as no key has what was sent: what
    /// tells answers apart, such as `Accept-Language`, belongs to the request or to ``Engine/Configuration/headers``.
    ///
    /// Called while the request has its place on the wire: be quick, and send what this needs through another engine, or
    /// the two may wait for each other. What it takes is of the attempt's time: at ``RetryPolicy/attemptTimeout`` or
    /// ``RetryPolicy/deadline`` it is canceled and not waited for, the request ends with `timedOut`, and what comes of
    /// it later is dropped. Where neither is set nothing bounds it, nor does ``Request/timeout``.
    ///
    /// - Parameters:
    ///   - request: as it is about to be sent.
    ///   - attempt: 1 for the first; counted anew for each hop of a redirect.
    func adapt(_ request: inout TransportRequest, attempt: Int) async throws

    /// Looks at what a server has answered, whatever the status, before it is stored: what is refused never is, and the
    /// error has the ``ConnectionError/response``. Redirects that are followed, confirmations (304), and successes
    /// whose body is not collected are not shown.
    func validate(_ response: Response) async throws

    /// Changes what the caller gets, from a server or from the cache: before it is validated and decoded by who asks, a
    /// subclass of ``Connection`` or a typed call. What is stored stays as it came.
    func transform(_ response: inout Response) async throws

    /// Changes the error that the caller gets, such as to tell what the body of its response says: also `badStatus` and
    /// `undecodable` of a typed call, `badStatus` of a download, and what a subclass of ``Connection`` has thrown. Called once,
    /// before any callback. Not called for canceled requests, nor for what a reader of events or lines has against an answer.
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
        guard !isEmpty else { return request }
        var request = request
        for interceptor in self {
            do { try await interceptor.adapt(&request, attempt: attempt) } catch {
                throw ConnectionError(intercepted: error, "the request was not sent")
            }
        }
        return request
    }

    func validate(_ response: Response) async throws(ConnectionError) {
        for interceptor in self {
            do { try await Hook.run { try await interceptor.validate(response) } } catch {
                throw ConnectionError(intercepted: error, "the response was refused", response)
            }
        }
    }

    func transform(_ response: Response) async throws(ConnectionError) -> Response {
        var response = response
        for interceptor in self {
            do { try await Hook.run { try await interceptor.transform(&response) } } catch {
                throw ConnectionError(intercepted: error, "the response could not be transformed", response)
            }
        }
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
    fileprivate init(intercepted error: any Error, _ what: String, _ response: Response? = nil) {
        let other =
            error is CancellationError
            ? .cancelled : ConnectionError(.intercepted, "\(what): see the cause", cause: error)
        self = error as? ConnectionError ?? other
        self.response = self.response ?? response
        if attempts.isEmpty { attempts = self.response?.attempts ?? [] }
    }
}
