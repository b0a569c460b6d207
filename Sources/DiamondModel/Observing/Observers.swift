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
    private struct Observer {
        let seat: Seat
        let receive: (Event) -> Void
        let finish: () -> Void
    }

    /// The place of an observer, which its token retains. The token does not retain the observer, which may own it.
    private final class Seat {
        /// The observers; `nil` when they were released. Not weak, because weak references slow down every delivery.
        unowned(unsafe) var observers: Observers?
        var isActive = true

        init(among observers: Observers) { self.observers = observers }

        func leave() {
            isActive = false
            guard let observers, let index = observers.observers.firstIndex(where: { $0.seat === self }) else { return }
            let observer = observers.observers.remove(at: index)
            // Released after the array has changed, because it may own the token of another observer.
            withExtendedLifetime(observer) {}
        }
    }

    private var observers: [Observer] = []

    deinit {
        for observer in observers { observer.seat.observers = nil }
        for observer in observers { observer.finish() }
    }

    var isEmpty: Bool { observers.isEmpty }

    func add(_ receive: @escaping (Event) -> Void, finish: @escaping () -> Void = {}) -> ObserverToken {
        let seat = Seat(among: self)
        observers.append(Observer(seat: seat, receive: receive, finish: finish))
        return ObserverToken { seat.leave() }
    }

    /// Notifies the current observers. An observer added or removed during the delivery does not receive the event.
    func notify(_ event: Event) {
        for observer in observers where observer.seat.isActive { observer.receive(event) }
    }
}
