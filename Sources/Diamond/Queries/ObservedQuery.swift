#if canImport(Observation)
public import Observation

/// An object with the newest state of a query, for SwiftUI and other observers on the main actor.
///
/// ```swift
/// @State private var cities = ObservedQuery(engine.updates(ListCities()))
/// ```
///
/// It observes the query while ``run()`` runs. Call that in a view's `task` modifier.
@MainActor
@Observable
public final class ObservedQuery<Value: Sendable> {
    /// The newest state.
    public private(set) var state = QueryState<Value>()

    @ObservationIgnored private let updates: any AsyncSequence<QueryState<Value>, Never> & Sendable

    /// Creates an object that observes nothing yet.
    ///
    /// - Parameter updates: the states of a query. A preview or a test may pass states of its own, such as an
    ///   `AsyncStream`.
    public nonisolated init(_ updates: some AsyncSequence<QueryState<Value>, Never> & Sendable) {
        self.updates = updates
    }

    /// The newest value; `nil` until there is one.
    public var value: Value? { state.value }
    /// The error of the last fetch; `nil` when it has succeeded.
    public var error: ConnectionError? { state.error }
    /// Whether a fetch is under way.
    public var isFetching: Bool { state.isFetching }

    /// Updates the state until the calling task is canceled or the engine is closed. The value stays afterwards.
    public func run() async {
        for await state in updates { self.state = state }
    }
}
#endif
