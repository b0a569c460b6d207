public import Diamond

/// A load that is asked for.
public struct Load: Hashable, Sendable {
    /// The part of the data that is loaded.
    public enum Scope: Hashable, Sendable {
        /// All, or of a list the first page, in place of what is there.
        case beginning
        /// The new items, added to those that are there.
        case refresh
        /// The next page.
        case more
    }

    /// The use of the cache; `nil` leaves it to the source.
    public var policy: CachePolicy?
    public var scope: Scope

    public init(policy: CachePolicy? = nil, scope: Scope = .beginning) {
        self.policy = policy
        self.scope = scope
    }
}

/// An object that is loaded, in whichever way: by requests, from a database, by a computation.
///
/// A conforming class has a state and two methods: one returns the work, which runs outside the object's isolation domain
/// and knows nothing of it; the other takes in what the work has brought, in the domain.
///
/// ```swift
/// final class Forecast: Loadable {
///     let loadState = LoadState()
///     private(set) var text = ""
///
///     func loader(for load: Load) -> (@concurrent @Sendable () async throws -> String)? {
///         { try await readForecast() }
///     }
///
///     func take(_ text: String, of load: Load) { self.text = text }
/// }
/// ```
public protocol Loadable: AnyObject {
    /// The data that a load returns.
    associatedtype Payload: Sendable

    var loadState: LoadState { get }

    /// Returns the work of a load; `nil` where there is nothing to do, as for static data or behind the last page.
    ///
    /// - Throws: an error for what cannot be loaded as it is. Nothing begins then.
    func loader(for load: Load) throws -> (@concurrent @Sendable () async throws -> Payload)?

    /// Takes in what the work has brought.
    ///
    /// - Throws: an error for what cannot be taken in. The load has failed then, and the data has to be as before.
    func take(_ payload: Payload, of load: Load) throws

    /// Returns the age that the data had when it came, zero by default; `nil` where a load has brought what is new and nothing
    /// else, which leaves ``LoadState/loadedAt`` as it is.
    func age(of payload: Payload) -> Duration?

    /// Returns the work that marks what a cache has of the source as stale, or erases it; `nil`, the default, where there
    /// is no cache.
    ///
    /// - Throws: an error where that cannot be said.
    func invalidator(isErasure: Bool) throws -> (@concurrent @Sendable () async throws -> Void)?

    /// Forgets the position in the source; does nothing by default.
    func resetSource()

    /// The context whose order of loads and saves counts; none by default.
    var loadContext: ModelContext? { get }

    /// Whether there may be more to load than what is there; `false` by default.
    var hasMore: Bool { get }

    /// Whether there is something to show; `true` by default.
    var hasContent: Bool { get }

    /// Calls `receive` after changes of what there is to show, until the token is deallocated; never by default.
    func observeContent(_ receive: @escaping () -> Void) -> ObserverToken?
}

extension Loadable {
    public func age(of payload: Payload) -> Duration? { .zero }
    public func invalidator(isErasure: Bool) throws -> (@concurrent @Sendable () async throws -> Void)? { nil }
    public func resetSource() {}
    public var loadContext: ModelContext? { nil }
    public var hasMore: Bool { false }
    public var hasContent: Bool { true }
    public func observeContent(_ receive: @escaping () -> Void) -> ObserverToken? { nil }
}

// MARK: Loading

extension Loadable {
    public var isLoaded: Bool { loadState.isLoaded }
    public var isLoading: Bool { loadState.isLoading }
    public var isLoadingMore: Bool { loadState.isLoadingMore }
    public var isOutdated: Bool { loadState.isOutdated }

    /// Loads, and returns when the data is in place.
    ///
    /// A load like the one that is under way joins it. Any other from the beginning takes its place: callers that waited
    /// for the old one wait for the new one; a load of more waits for the one from the beginning. Data that is there stays
    /// until the new data is; it stays, too, when the load fails or is canceled. When the calling task is canceled the call
    /// ends at once, and the load with the last of its callers.
    ///
    /// - Parameters:
    ///   - policy: the use of the cache; `nil` leaves it to the source.
    ///   - more: whether more is loaded of what is there. Of what was never loaded that is the beginning.
    /// - Throws: the error of the source or of what it brought, which ``LoadState/error`` keeps, and `CancellationError`.
    public nonisolated(nonsending) func load(policy: CachePolicy? = nil, more: Bool = false) async throws {
        try await load(Load(policy: policy, scope: more && loadState.isLoaded ? .more : .beginning))
    }

    /// Loads as ``load(policy:more:)`` does, in any scope. A refresh joins a load from the beginning that is under way.
    public nonisolated(nonsending) func load(_ load: Load) async throws {
        try Task.checkCancellation()
        if let flight = loadState.flight, !flight.isCanceled, load.joins(flight.load) {
            return try await wait(for: flight)
        }
        guard let flight = try begin(load) else { return }
        try await wait(for: flight)
    }

    /// Loads what was never loaded, and loads outdated data again where the last load has not failed; waits for a load that
    /// is under way.
    ///
    /// - Throws: as ``load(policy:more:)``.
    public nonisolated(nonsending) func loadIfNeeded() async throws {
        if let flight = loadState.flight, !flight.isCanceled { return try await wait(for: flight) }
        if !loadState.isLoaded { return try await load() }
        if loadState.isOutdated, loadState.error == nil { try await load(policy: .revalidate) }
    }

    /// Repeats the load that has failed; without one the data is loaded again.
    ///
    /// - Throws: as ``load(policy:more:)``.
    public nonisolated(nonsending) func retry() async throws {
        try await load(loadState.failedLoad ?? Load(policy: .revalidate))
    }

    /// Ends the load that is under way; its callers get a `CancellationError`.
    public func cancel() { loadState.cancel() }

    /// Marks the data as outdated, and what a cache has of it as stale.
    ///
    /// - Parameter erase: whether what a cache has is erased.
    /// - Throws: the error of the source; the data is marked all the same.
    public nonisolated(nonsending) func invalidate(erase: Bool = false) async throws {
        loadState.invalidate()
        try await invalidator(isErasure: erase)?()
    }

    /// Takes the object for one that was never loaded. What it holds stays until the next load.
    public func reset() {
        loadState.reset()
        resetSource()
    }

    /// Calls `receive` with the object and the events of loading, until the token is deallocated.
    public func observeLoading(
        _ kinds: Set<LoadEvent.Kind> = Set(LoadEvent.Kind.allCases),
        _ receive: @escaping (Self, LoadEvent) -> Void
    ) -> ObserverToken {
        loadState.observe(kinds) { [weak self] event in
            if let self { receive(self, event) }
        }
    }

    // MARK: Steps

    private func begin(_ load: Load) throws -> LoadFlight? {
        let work: (@concurrent @Sendable () async throws -> Payload)?
        do { work = try loader(for: load) } catch {
            // Another load that is under way goes on.
            if loadState.flight == nil { loadState.fail(error) }
            throw error
        }
        guard let work else { return nil }
        let order = loadContext?.order
        let flight = LoadFlight(load, time: order?.begin() ?? 0) { try await work() }
        loadState.begin(flight, in: order)
        return flight
    }

    private nonisolated(nonsending) func wait(for flight: LoadFlight) async throws {
        var flight = flight
        var outcome = await flight.outcome()
        while case .superseded(let next) = outcome {
            flight = next
            outcome = await flight.outcome(wasExpected: true)
        }
        if case .canceled = outcome {
            // Others may wait for it, or for the one that has replaced it.
            if loadState.flight?.isCanceled == true { loadState.cancel() }
        } else if loadState.flight === flight {
            finish(flight, outcome)
        }
        switch outcome {
        case .loaded: if let error = flight.failure { throw error }
        case .failed(let error): throw error
        case .canceled, .superseded: throw CancellationError()
        }
    }

    /// The first of the callers brings the load to its end.
    private func finish(_ flight: LoadFlight, _ outcome: LoadFlight.Outcome) {
        flight.makeFinal()
        do {
            let age = try takeIn(outcome, of: flight)
            // An observer may have reset the object.
            if loadState.flight === flight { loadState.finish(age: age) }
        } catch {
            flight.failure = error
            loadState.fail(error)
        }
    }

    private func takeIn(_ outcome: LoadFlight.Outcome, of flight: LoadFlight) throws -> Duration? {
        if case .failed(let error) = outcome { throw error }
        // The work returns a payload of this type.
        guard case .loaded(let value) = outcome, let payload = value as? Payload else { return nil }
        if let context = loadContext {
            try context.takingAnswer(of: flight.time) { try take(payload, of: flight.load) }
        } else {
            try take(payload, of: flight.load)
        }
        return flight.load.scope == .more ? nil : age(of: payload)
    }
}

extension Load {
    /// Whether another load that is under way brings what this one asks for.
    fileprivate func joins(_ other: Load) -> Bool {
        switch scope {
        case .beginning: self == other
        case .refresh: other.scope != .more
        case .more: true
        }
    }
}
