import DiamondSQLite

/// An owner of connections that cancels them when it is no longer referenced: a screen that keeps one leaves nothing
/// running behind.
///
/// ```swift
/// let owner = CancellationOwner()
/// owner.own(engine.send(request) { result in show(result) })
/// engine.cancel(where: owner.owns)
/// ```
///
/// It does not keep what it owns. A connection may have several owners; the first that goes cancels it.
public final class CancellationOwner: Sendable {
    private struct Owned { weak var connection: Connection? }

    /// Whether the callbacks of what it cancels are dropped (``Connection/onResult(on:_:)``); completion blocks are called.
    public let isSilent: Bool
    private let owned = Guarded<[ObjectIdentifier: Owned]>([:])

    /// - Parameter isSilent: whether the callbacks of the canceled connections are dropped; by default they are called
    ///   with `cancelled`.
    public init(isSilent: Bool = false) { self.isSilent = isSilent }

    deinit { cancel() }

    /// Owns a connection until that is over.
    ///
    /// - Returns: the connection.
    @discardableResult
    public func own<Owned: Connection>(_ connection: Owned) -> Owned {
        let number = ObjectIdentifier(connection)
        owned.withLock { $0[number] = .init(connection: connection) }
        connection.afterCallbacks { [owned] _ in owned.withLock { $0[number] = nil } }
        return connection
    }

    /// Whether a connection is among those that it owns.
    public func owns(_ connection: Connection) -> Bool {
        owned.withLock { $0[ObjectIdentifier(connection)]?.connection === connection }
    }

    /// Cancels what it owns now, and may own others afterwards.
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
