public import Foundation

/// Requests as operations. See <doc:RunningConnections>.
extension Engine {
    /// Creates a connection for a request. Add its dependencies, then start it.
    public func connection(for request: Request) -> Connection {
        let connection = Connection(request)
        connection.setRegistry(members)
        return connection
    }

    /// Creates a connection of this engine that writes the body of its response into a file, as
    /// ``Connection/init(_:to:)`` does.
    public func connection(for request: Request, to file: URL) -> Connection {
        let connection = connection(for: request)
        connection.write(to: file)
        return connection
    }

    func connection(for request: Request, handler: ResponseHandler?) -> Connection {
        let connection = connection(for: request)
        connection.setHandler(handler)
        return connection
    }

    /// Creates a connection from the snapshot of another, as ``Connection/init(_:)-(ConnectionSnapshot)`` does, for
    /// this engine.
    public func connection(from snapshot: ConnectionSnapshot) -> Connection {
        let connection = Connection(snapshot)
        connection.setRegistry(members)
        return connection
    }

    /// Runs a connection when its dependencies have finished. Another engine may have made it. Has no effect if an
    /// engine runs it already.
    public func start(_ connection: Connection) { members.start(connection) }

    /// Adds a connection without starting it.
    ///
    /// - Returns: `true` if the caller has to start the connection; `false` if an engine runs it already, or it has
    ///   finished.
    func add(_ connection: Connection) -> Bool { members.add(connection) }

    /// Runs a request as a connection, and returns it.
    @discardableResult
    public func start(_ request: Request) -> Connection {
        let connection = connection(for: request)
        start(connection)
        return connection
    }

    /// Runs requests as connections, and returns these in the order of the requests.
    @discardableResult
    public func start(_ requests: [Request]) -> [Connection] {
        let connections = requests.map(connection(for:))
        start(connections)
        return connections
    }

    /// Runs connections, each when its dependencies have finished. All are in the engine before the first starts.
    public func start(_ connections: [Connection]) {
        let added = connections.filter(add)
        for connection in added { connection.start() }
    }

    /// Runs a request as a connection that writes the body of its response into a file, and returns the connection.
    /// Such a download can be paused, be a dependency, and have callbacks.
    ///
    /// ```swift
    /// let connection = engine.start(request, to: file).onResult { result in
    ///     show(result)
    /// }
    /// ```
    @discardableResult
    public func start(_ request: Request, to file: URL) -> Connection {
        let connection = connection(for: request, to: file)
        start(connection)
        return connection
    }

    /// Sends a request, and calls back once with its response or the error. Use this method in code that cannot
    /// `await`.
    ///
    /// The response may come from the cache if the policy allows. The callback never runs within this call. On another
    /// thread it may run before this call has returned: use the result, and not the returned connection.
    ///
    /// ```swift
    /// engine.send(request) { result in
    ///     show(result)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: the request. In a serial lane, later requests wait until `callback` has returned.
    ///   - executor: the executor of `callback`; `nil` for ``Configuration/callbackExecutor``.
    ///   - callback: called once, also if the connection is canceled.
    /// - Returns: the connection, to be canceled or paused.
    // Disfavored, so that `.main` means the executor whose callbacks are isolated to the main actor.
    @discardableResult
    @_disfavoredOverload
    public func send(
        _ request: Request,
        on executor: CallbackExecutor? = nil,
        then callback: @escaping @Sendable (Result<Response, ConnectionError>) -> Void
    ) -> Connection {
        let connection = connection(for: request).onResult(on: executor, callback)
        start(connection)
        return connection
    }

    /// Sends a request and calls back once on the main actor, with its response or the error. The callback may use
    /// values that are isolated to the main actor. On Linux it is called only in programs that run their main queue or
    /// main actor.
    ///
    /// ```swift
    /// engine.send(request, on: .main) { result in
    ///     self.isLoading = false
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: the request. In a serial lane, later requests wait until `callback` has returned.
    ///   - executor: `.main`.
    ///   - callback: called once, also if the connection is canceled.
    /// - Returns: the connection, to be canceled or paused.
    @discardableResult
    public func send(
        _ request: Request,
        on executor: MainCallbackExecutor,
        then callback: @escaping @MainActor @Sendable (Result<Response, ConnectionError>) -> Void
    ) -> Connection {
        let connection = connection(for: request).onResult(on: executor, callback)
        start(connection)
        return connection
    }

    /// The unfinished connections of the engine, in the order in which the engine or a queue of yours started them:
    /// waiting, running and paused ones. Calls to ``send(_:)->Response`` are not included.
    public var connections: [Connection] { members.all }

    /// Cancels the unfinished connections of this engine that satisfy a predicate, such as one on the tags, lane or
    /// URL of their requests. Calls to ``send(_:)->Response`` are canceled with their tasks.
    ///
    /// - Parameter predicate: called in no particular order. It must return quickly.
    /// - Returns: the number of canceled connections.
    @discardableResult
    public func cancel(where predicate: (Connection) -> Bool) -> Int {
        let chosen = members.all.filter(predicate)
        for connection in chosen { connection.cancel() }
        return chosen.count
    }

    /// Cancels the connections of this engine whose requests have this key (``key(of:)``). The key is that of the
    /// original request, without the changes by dependencies. If a key is not known yet, the credential provider is
    /// called. If the calling task is canceled during that call, the connection is not canceled.
    ///
    /// - Returns: the number of canceled connections.
    @discardableResult
    @concurrent
    public func cancel(_ key: RequestKey) async -> Int {
        let known = members.all.map { (connection: $0, key: pipeline.knownKey(of: $0.request)) }
        let own = known.filter { $0.key == key }.map(\.connection)
        for connection in own { connection.cancel() }
        // In parallel: a slow credential provider for one connection does not delay the others.
        return await withTaskGroup(of: Bool.self) { group in
            for (connection, own) in known where own == nil {
                group.addTask { [self] in
                    guard let own = try? await self.key(of: connection.request), own == key else { return false }
                    connection.cancel()
                    return true
                }
            }
            return await group.reduce(own.count) { $0 + ($1 ? 1 : 0) }
        }
    }
}
