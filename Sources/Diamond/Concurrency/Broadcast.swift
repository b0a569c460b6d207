import DiamondSQLite

/// Sends elements to all that listen, on the thread of the sender.
final class Broadcast<Element: Sendable>: Sendable {
    private let listeners = Guarded(Listeners<@Sendable (Element) -> Void>())

    /// - Parameter listener: called by any thread; be short.
    /// - Returns: the number for ``remove(_:)``.
    func add(_ listener: @escaping @Sendable (Element) -> Void) -> Int { listeners.withLock { $0.add(listener) } }

    /// Tells a listener nothing more. It may still be told what is being sent in this moment.
    func remove(_ number: Int) {
        // Freed where no lock is held.
        _ = listeners.withLock { $0.remove(number) }
    }

    func send(_ element: Element) {
        for listener in listeners.withLock({ $0.all }) { listener(element) }
    }

    /// The elements from now on. Of those that come while none is asked for, the newest is kept.
    var newest: AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = add { continuation.yield($0) }
            continuation.onTermination = { [self] _ in remove(number) }
        }
    }
}
