#if Metrics || Tracing
import DiamondSQLite

@testable import Diamond

/// A queue of values that are removed one after another.
final class ValueQueue<Element: Sendable>: Sendable {
    private let rest: Guarded<[Element]>

    init(_ elements: [Element]) { rest = Guarded(elements) }

    func append(_ element: Element) { rest.withLock { $0.append(element) } }

    func next() -> Element { rest.withLock { $0.removeFirst() } }
}

extension ValueQueue<ActivityInterval>: ActivityObserver {
    func receive(_ event: ActivityEvent) { if case .began(let interval) = event { append(interval) } }
}
#endif
