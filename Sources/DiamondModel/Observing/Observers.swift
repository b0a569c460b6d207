/// The token of an observation, which lasts as long as the token is kept.
public final class ObserverToken {
    private var end: (() -> Void)?

    init(_ end: @escaping () -> Void) { self.end = end }

    deinit { end?() }

    /// Ends the observation. An observer that is canceled while an event is told does not hear it any more.
    public func cancel() {
        end?()
        end = nil
    }
}

/// Those who hear of events, in the order of their arrival.
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

    /// Tells all who observe now. Who is added meanwhile does not hear of it, nor who is removed meanwhile.
    func notify(_ event: Event) {
        for observer in observers where observer.isActive { observer.receive(event) }
    }
}
