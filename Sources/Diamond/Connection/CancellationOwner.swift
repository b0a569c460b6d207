import DiamondSQLite

/// Cancels its connections when it is deallocated, for example together with the screen that owns it.
///
/// ```swift
/// let owner = CancellationOwner()
/// owner.own(engine.send(request) { result in show(result) })
/// engine.cancel(where: owner.owns)
/// ```
///
/// The owner holds weak references. A connection may have several owners; the first one deallocated cancels it.
public final class CancellationOwner: Sendable {
    private struct Owned { weak var connection: Connection? }

    /// Whether the callbacks of canceled connections (``Connection/onResult(on:_:)-(CallbackExecutor?,_)``) are
    /// dropped. Completion blocks are always called.
    let isSilent: Bool
    private let owned = Guarded<[ObjectIdentifier: Owned]>([:])

    /// - Parameter isSilent: whether the callbacks of the canceled connections are dropped; by default they are called
    ///   with `cancelled`.
    public init(isSilent: Bool = false) { self.isSilent = isSilent }

    deinit { cancel() }

    /// Owns a connection until it is over.
    ///
    /// - Returns: the connection.
    @discardableResult
    public func own<Owned: Connection>(_ connection: Owned) -> Owned {
        let number = ObjectIdentifier(connection)
        owned.withLock { $0[number] = .init(connection: connection) }
        connection.afterCallbacks { [owned] _ in owned.withLock { $0[number] = nil } }
        return connection
    }

    /// Returns whether the owner owns a connection.
    public func owns(_ connection: Connection) -> Bool {
        owned.withLock { $0[ObjectIdentifier(connection)]?.connection === connection }
    }

    /// Cancels the connections that it owns now. It may own others afterwards.
    public func cancel() {
        let connections = owned.withLock { owned in
            defer { owned = [:] }
            return owned.values.compactMap(\.connection)
        }
        for connection in connections {
            if isSilent { connection.dropCallbacks() }
            connection.cancel()
        }
    }
}
