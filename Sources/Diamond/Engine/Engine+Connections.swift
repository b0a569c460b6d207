public import Foundation

/// Requests as operations. See <doc:RunningConnections>.
extension Engine {
    /// Makes a connection of a request, ready to be given dependencies and enqueued.
    public func connection(for request: Request) -> Connection {
        let connection = Connection(request)
        connection.setRegistry(members)
        return connection
    }

    /// Makes a connection that writes the body of its answer into a file, as ``Connection/init(_:to:)`` does, for this engine.
    public func connection(for request: Request, to file: URL) -> Connection {
        let connection = connection(for: request)
        connection.write(to: file)
        return connection
    }

    func connection(for request: Request, _ handler: ResponseHandler?) -> Connection {
        let connection = connection(for: request)
        connection.setHandler(handler)
        return connection
    }

    /// Makes a connection from the snapshot of another, as ``Connection/init(_:)-(ConnectionSnapshot)`` does, for this
    /// engine.
    public func connection(from snapshot: ConnectionSnapshot) -> Connection {
        let connection = Connection(snapshot)
        connection.setRegistry(members)
        return connection
    }

    /// Runs a connection when its dependencies have finished, whichever engine made it. Enqueued again, it is left where
    /// it is.
    public func enqueue(_ connection: Connection) { members.enqueue(connection) }

    /// - Returns: `false` when the connection is run by an engine already, or has finished; else it is to be started.
    func add(_ connection: Connection) -> Bool { members.add(connection) }

    /// Runs a request as a connection, and returns it.
    @discardableResult
    public func enqueue(_ request: Request) -> Connection {
        let connection = connection(for: request)
        enqueue(connection)
        return connection
    }

    /// Runs a request as a connection that writes the body of its answer into a file, and returns it: a download that
    /// can be paused, depended on, and given callbacks.
    ///
    /// ```swift
    /// let connection = engine.enqueue(request, to: file).onResult { result in
    ///     show(result)
    /// }
    /// ```
    @discardableResult
    public func enqueue(_ request: Request, to file: URL) -> Connection {
        let connection = connection(for: request, to: file)
        enqueue(connection)
        return connection
    }

    /// Sends a request and calls back once with its response, from the cache where the policy allows, or with the
    /// error. The callback never runs within this call. On an executor with other threads it may run while this call
    /// returns: everything it needs is in the result. For programs that do not `await`.
    ///
    /// ```swift
    /// engine.send(request) { result in
    ///     show(result)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: in a serial lane, those behind it wait until `callback` has returned.
    ///   - executor: the executor of `callback`; `nil` for ``Configuration/callbackExecutor``.
    ///   - callback: called also when the connection is canceled.
    /// - Returns: the connection, to be canceled or paused.
    @discardableResult
    public func send(
        _ request: Request,
        on executor: CallbackExecutor? = nil,
        then callback: @escaping @Sendable (Result<Response, ConnectionError>) -> Void
    ) -> Connection {
        let connection = connection(for: request).onResult(on: executor, callback)
        enqueue(connection)
        return connection
    }

    /// The connections that the engine runs, in the order in which they were enqueued, or started by a queue of yours:
    /// those that wait, those on their way, and those that are paused; each until it has finished. Calls to
    /// ``send(_:)->Response`` are not among them.
    public var connections: [Connection] { members.all }

    /// Cancels those unfinished connections of this engine that satisfy a predicate, such as one on the tags, lane or
    /// URL of their requests. Calls to ``send(_:)->Response`` are canceled with their tasks.
    ///
    /// - Parameter predicate: called in no order; be short.
    /// - Returns: how many there were.
    @discardableResult
    public func cancel(where predicate: (Connection) -> Bool) -> Int {
        let chosen = members.all.filter(predicate)
        for connection in chosen { connection.cancel() }
        return chosen.count
    }

    /// Cancels the connections of this engine whose requests have this key (``key(of:)``). The requests count as they
    /// were given, without the changes by dependencies. If a key is not known yet, the credential provider is asked; if
    /// the calling task is canceled meanwhile, those connections stay.
    ///
    /// - Returns: how many there were.
    @discardableResult
    @concurrent
    public func cancel(_ key: RequestKey) async -> Int {
        let known = members.all.map { ($0, pipeline.knownKey(of: $0.request)) }
        let own = known.filter { $0.1 == key }.map(\.0)
        for connection in own { connection.cancel() }
        // Each by itself: one whose provider takes long keeps none of the others.
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
