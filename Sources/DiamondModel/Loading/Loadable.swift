public import Diamond

/// A request to load an object.
public struct Load: Hashable, Sendable {
    /// The part of the data that is loaded.
    public enum Scope: Hashable, Sendable {
        /// All data, or the first page of a list. Replaces the existing data.
        case beginning
        /// New items, added to the existing ones.
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

/// An object that can be loaded, for example by requests, from a database or by a computation.
///
/// A conforming class has a state and two methods. ``loader(for:)`` returns the work, which runs outside the object's
/// isolation domain and does not refer to the object. ``apply(_:of:)`` stores its result, in the isolation domain.
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
///     func apply(_ text: String, of load: Load) { self.text = text }
/// }
/// ```
public protocol Loadable: AnyObject {
    /// The data that a load returns.
    associatedtype Payload: Sendable

    var loadState: LoadState { get }

    /// Returns the work of a load, or `nil` if there is nothing to do, as for static data or after the last page.
    ///
    /// - Throws: An error if the object cannot be loaded. No load begins then.
    func loader(for load: Load) throws -> (@concurrent @Sendable () async throws -> Payload)?

    /// Stores the result of a load.
    ///
    /// - Throws: An error if the result cannot be used. The load fails then, and the data has to stay as before.
    func apply(_ payload: Payload, of load: Load) throws

    /// Returns the age of the data when it arrived. Zero by default. `nil` if the load has brought only new items,
    /// which does not change ``LoadState/loadedAt``.
    func age(of payload: Payload) -> Duration?

    /// Returns the work that marks cached responses of the source as stale, or erases them. `nil`, the default, if
    /// there is no cache.
    ///
    /// - Throws: An error if the responses cannot be determined.
    func invalidator(isErasure: Bool) throws -> (@concurrent @Sendable () async throws -> Void)?

    /// Resets the position in the source. Does nothing by default.
    func resetSource()

    /// The context that orders loads and saves; `nil` by default.
    var loadContext: ModelContext? { get }

    /// Whether there may be more to load. `false` by default.
    var hasMore: Bool { get }

    /// Whether there is content to show, whether or not it came with a load. By default, whether the object is loaded.
    var hasContent: Bool { get }

    /// Calls `receive` after changes of the content, until the token is deallocated. Never by default.
    func observeContent(_ receive: @escaping () -> Void) -> ObserverToken?
}

extension Loadable {
    public func age(of payload: Payload) -> Duration? { .zero }
    public func invalidator(isErasure: Bool) throws -> (@concurrent @Sendable () async throws -> Void)? { nil }
    public func resetSource() {}
    public var loadContext: ModelContext? { nil }
    public var hasMore: Bool { false }
    public var hasContent: Bool { isLoaded }
    public func observeContent(_ receive: @escaping () -> Void) -> ObserverToken? { nil }
}

// MARK: Loading

extension Loadable {
    public var isLoaded: Bool { loadState.isLoaded }
    public var isLoading: Bool { loadState.isLoading }
    public var isLoadingMore: Bool { loadState.isLoadingMore }
    public var isOutdated: Bool { loadState.isOutdated }

    /// Loads the object, and returns when the data is in place.
    ///
    /// During another load, a load of the next page only waits for it. So does a load from the beginning that equals
    /// the running one. Any other load replaces the running one, whose callers then wait for the new one.
    ///
    /// The existing data stays until the new data is there, and if the load fails or is canceled. A long page of a
    /// collection is applied in pieces: those that were applied before a cancellation stay. If the calling task is
    /// canceled, the call ends at once. The load ends when its last caller is canceled.
    ///
    /// - Parameters:
    ///   - policy: The use of the cache; `nil` leaves it to the source.
    ///   - more: Whether to load the next page. If nothing was loaded yet, the load starts at the beginning.
    /// - Throws: The error of the source or of its data, also stored in ``LoadState/error``; `CancellationError`.
    public nonisolated(nonsending) func load(policy: CachePolicy? = nil, more: Bool = false) async throws {
        try await load(Load(policy: policy, scope: more && loadState.isLoaded ? .more : .beginning))
    }

    /// Loads as ``load(policy:more:)`` does, in any scope. A refresh only waits for a running load from the beginning,
    /// or for a running refresh.
    public nonisolated(nonsending) func load(_ load: Load) async throws {
        try Task.checkCancellation()
        if let flight = loadState.flight, !flight.isCanceled, load.joins(flight.load) {
            return try await wait(for: flight)
        }
        guard let flight = try begin(load) else { return }
        try await wait(for: flight)
    }

    /// Loads the object if it was never loaded, or if it is outdated and the last load has not failed. Waits for a
    /// running load.
    ///
    /// - Throws: As ``load(policy:more:)``.
    public nonisolated(nonsending) func loadIfNeeded() async throws {
        if let flight = loadState.flight, !flight.isCanceled { return try await wait(for: flight) }
        if !loadState.isLoaded { return try await load() }
        if loadState.isOutdated, loadState.error == nil { try await load(policy: .revalidate) }
    }

    /// Repeats the failed load. Without one, loads the data again.
    ///
    /// - Throws: As ``load(policy:more:)``.
    public nonisolated(nonsending) func retry() async throws {
        try await load(loadState.failedLoad ?? Load(policy: .revalidate))
    }

    /// Cancels the running load. Its callers get a `CancellationError`.
    public func cancel() { loadState.cancel() }

    /// Marks the data as outdated, and its cached responses as stale.
    ///
    /// - Parameter erase: Whether to erase the cached responses.
    /// - Throws: The error of the source. The data is marked nevertheless.
    public nonisolated(nonsending) func invalidate(erase: Bool = false) async throws {
        loadState.invalidate()
        try await invalidator(isErasure: erase)?()
    }

    /// Resets the object to its state before any load. Its data stays until the next load.
    public func reset() {
        loadState.reset()
        resetSource()
    }

    /// Calls `receive` with the object and the events of loading, until the token is deallocated.
    public func observeLoading(
        _ kinds: Set<LoadEvent.Kind> = Set(LoadEvent.Kind.allCases),
        receive: @escaping (Self, LoadEvent) -> Void
    ) -> ObserverToken {
        loadState.observe(kinds) { [weak self] event in
            if let self { receive(self, event) }
        }
    }

    // MARK: Steps

    private func begin(_ load: Load) throws -> LoadFlight? {
        let work: (@concurrent @Sendable () async throws -> Payload)?
        do { work = try loader(for: load) } catch {
            // A running load continues.
            if loadState.flight == nil { loadState.fail(error) }
            throw error
        }
        guard let work else { return nil }
        let order = loadContext?.order
        let flight = LoadFlight(load, time: order?.begin() ?? .beginning) { try await work() }
        loadState.begin(flight, in: order)
        return flight
    }

    private nonisolated(nonsending) func wait(for flight: LoadFlight, wasExpected: Bool = false) async throws {
        var flight = flight
        var completion = await flight.completion(wasExpected: wasExpected)
        while case .superseded(let next) = completion {
            flight = next
            completion = await flight.completion(wasExpected: true)
        }
        if case .canceled = completion {
            // Other callers may wait for it, or for the load that has replaced it.
            if loadState.flight?.isCanceled == true { loadState.cancel() }
        } else if loadState.flight === flight {
            if await flight.preparing({ await prepare(for: completion, of: flight) }) {
                if loadState.flight?.isCanceled == true { loadState.cancel() }
                if loadState.flight !== flight { (self as? any PagePreparing)?.endPreparation(of: flight) }
                throw CancellationError()
            }
            if loadState.flight === flight {
                finish(flight, with: completion)
            } else {
                // It may have been canceled or replaced meanwhile.
                completion = await flight.completion()
                if case .superseded(let next) = completion { return try await wait(for: next, wasExpected: true) }
            }
        }
        switch completion {
        case .loaded: if let error = flight.failure { throw error }
        case .failed(let error): throw error
        case .canceled, .superseded: throw CancellationError()
        }
    }

    private nonisolated(nonsending) func prepare(
        for completion: LoadFlight.Completion, of flight: LoadFlight
    ) async {
        let pages = self as? any PagePreparing
        if case .loaded(let page as Page) = completion { await pages?.prepare(page, of: flight) }
        if case .loaded(let payload as Payload) = completion {
            // A page without a request may be from a database that does not have the answers yet.
            let isDated = (payload as? Page).map { $0.sent != nil } ?? true
            loadContext?.order.note(age: isDated ? age(of: payload) : nil, of: flight.time)
        }
        await loadContext?.prepareLoad()
        if loadState.flight !== flight { pages?.endPreparation(of: flight) }
    }

    /// Finishes the load, for the first of its callers.
    private func finish(_ flight: LoadFlight, with completion: LoadFlight.Completion) {
        flight.makeFinal()
        do {
            let age = try apply(completion, of: flight)
            // An observer may have reset the object.
            if loadState.flight === flight { loadState.finish(age: age) }
        } catch {
            flight.failure = error
            loadState.fail(error)
        }
    }

    private func apply(_ completion: LoadFlight.Completion, of flight: LoadFlight) throws -> Duration? {
        if case .failed(let error) = completion { throw error }
        // The work returns a payload of this type.
        guard case .loaded(let value) = completion, let payload = value as? Payload else { return nil }
        if let context = loadContext {
            try context.applyingAnswer(of: flight.time) { try apply(payload, of: flight.load) }
        } else {
            try apply(payload, of: flight.load)
        }
        return flight.load.scope == .more ? nil : age(of: payload)
    }
}

extension Load {
    /// Returns whether this load only waits for a running one.
    fileprivate func joins(_ other: Load) -> Bool {
        switch scope {
        case .beginning: self == other
        case .refresh: other.scope != .more
        case .more: true
        }
    }
}
