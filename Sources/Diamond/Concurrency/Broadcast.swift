import DiamondSQLite

/// A broadcaster that sends elements to all its listeners, on the sender's thread.
package final class Broadcast<Element: Sendable>: Sendable {
    private let listeners = Guarded(Listeners<@Sendable (Element) -> Void>())

    /// Adds a listener.
    ///
    /// - Parameter listener: called on any thread; it must return quickly.
    /// - Returns: the number for ``remove(_:)``.
    func add(_ listener: @escaping @Sendable (Element) -> Void) -> Int { listeners.withLock { $0.add(listener) } }

    /// Removes a listener. It may still receive an element that is being sent at this moment.
    func remove(_ number: Int) {
        // Discarded outside the lock, because its deinitialization may run other code.
        _ = listeners.withLock { $0.remove(number) }
    }

    var hasListeners: Bool { listeners.withLock { !$0.isEmpty } }

    func send(_ element: Element) {
        for listener in listeners.withLock({ $0.all }) { listener(element) }
    }

    /// The elements from now on. The stream buffers only the newest one.
    var newest: AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = add { continuation.yield($0) }
            continuation.onTermination = { [self] _ in remove(number) }
        }
    }
}
