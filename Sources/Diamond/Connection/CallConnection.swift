import DiamondSQLite

/// The connection of a typed call. It fails like ``Engine/send(_:)->Call.Output``: with `badStatus` for a status other
/// than 2xx, and with `undecodable` if the body cannot be decoded.
///
/// ```swift
/// let login = engine.start(Login(user: "ann"))
/// print(try await login.output.token)
/// ```
///
/// Made by ``Engine/connection(for:)-(Call)``, ``Engine/start(_:)-(Call)`` and ``Engine/start(_:)-([Call])``.
///
/// `@unchecked Sendable`: both properties are constants of sendable types.
public final class CallConnection<Call: Endpoint>: Connection, @unchecked Sendable {
    /// The call as it was given.
    public let call: Call
    let handler: CallHandler<Call>

    init(_ call: Call, decoder: any ResponseDecoder) {
        self.call = call
        handler = CallHandler(call, decoder: decoder)
        var request = Request("")
        var fault: ConnectionError?
        do throws(ConnectionError) { request = try handler.request } catch { fault = error }
        super.init(request)
        core.withLock { [fault] core in
            core.handler = handler.responses
            core.fault = fault
        }
    }

    // No code of a subclass takes part.
    override var isPlain: Bool { true }

    /// The decoded output. Reading it waits until it is known, and starts the connection as ``Connection/response``
    /// does. Canceling the waiting task cancels the connection, unless other tasks wait for it
    /// (``CanceledWait/cancelIfAlone``).
    ///
    /// - Throws: ``ConnectionError``; `cancelled` as soon as the connection or the waiting task is canceled.
    public var output: Call.Output {
        get async throws(ConnectionError) { try await output(whenCanceled: .cancelIfAlone) }
    }

    /// Waits for the decoded output.
    ///
    /// - Parameter effect: the effect on the connection if the waiting task is canceled.
    /// - Throws: the errors of ``output``.
    public func output(whenCanceled effect: CanceledWait) async throws(ConnectionError) -> Call.Output {
        try handler.output(of: try await response(whenCanceled: effect))
    }

    /// Adds a callback that is called once with the output or the error, like
    /// ``Connection/onResult(on:_:)-(CallbackExecutor?,_)``.
    ///
    /// - Parameters:
    ///   - executor: the executor of the callback; `nil` for the engine's.
    ///   - callback: the callback, which is retained until it is called.
    /// - Returns: the connection.
    @discardableResult
    public func onOutput(
        on executor: CallbackExecutor? = nil,
        _ callback: @escaping @Sendable (Result<Call.Output, ConnectionError>) -> Void
    ) -> CallConnection {
        onResult(on: executor) { [handler] result in
            callback(
                result.flatMap { response in
                    Result { () throws(ConnectionError) in try handler.output(of: response) }
                })
        }
    }

    /// Returns a new connection for the same call, whatever the state of this one. It has the engine and the
    /// settings of this one, but not its result.
    public override func copied() -> CallConnection { copySettings(to: CallConnection(call, decoder: handler.decoder)) }
}

extension Connection {
    /// Makes the connection wait for a typed call, and updates its request with the decoded output of that call.
    ///
    /// ```swift
    /// profile.addDependency(login) { request, login in
    ///     request.headers[.authorization] = "Bearer " + login.token
    /// }
    /// ```
    ///
    /// A status of the call other than 2xx counts as a failure. ``failedDependencies`` decides what follows.
    ///
    /// - Parameters:
    ///   - connection: the dependency, of any engine.
    ///   - update: the closure that updates the request, called with the output before the request is sent. If it
    ///     throws, the connection fails with `dependencyFailed`.
    public func addDependency<Call: Endpoint>(
        _ connection: CallConnection<Call>,
        updatingRequest update: @escaping @Sendable (inout Request, Call.Output) throws -> Void
    ) {
        // The closure captures the handler and not the connection, which the dependency may release.
        depend(on: connection) { [handler = connection.handler] request, response in
            try update(&request, try handler.output(of: response))
        }
    }
}
