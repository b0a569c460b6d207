/// The token of an observation. The observation ends when the token is deallocated.
public final class ObserverToken {
    private var end: (() -> Void)?

    /// Creates a token that calls `end` once, when it is deallocated or canceled.
    public init(_ end: @escaping () -> Void) { self.end = end }

    deinit { end?() }

    /// Ends the observation. If an event is being delivered, the canceled observer no longer receives it.
    public func cancel() {
        end?()
        end = nil
    }
}

/// The observers of events, in the order in which they were added.
@usableFromInline
final class Observers<Event> {
    private final class Observer {
        let receive: (Event) -> Void
        let finish: () -> Void
        var isActive = true

        init(_ receive: @escaping (Event) -> Void, finish: @escaping () -> Void) {
            self.receive = receive
            self.finish = finish
        }
    }

    private var observers: [Observer] = []

    deinit { for observer in observers { observer.finish() } }

    var isEmpty: Bool { observers.isEmpty }

    func add(_ receive: @escaping (Event) -> Void, finish: @escaping () -> Void = {}) -> ObserverToken {
        let observer = Observer(receive, finish: finish)
        observers.append(observer)
        return ObserverToken { [weak self, weak observer] in
            observer?.isActive = false
            self?.observers.removeAll { $0 === observer }
        }
    }

    /// Notifies the current observers. An observer added or removed during the delivery does not receive the event.
    func notify(_ event: Event) {
        for observer in observers where observer.isActive { observer.receive(event) }
    }
}
