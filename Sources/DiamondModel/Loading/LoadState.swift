public import Foundation
public import Observation

/// The loading state of an object: whether it has data, whether it is being loaded, and the age of the data.
///
/// Loaded, loading and outdated are independent: existing data stays while newer data is loaded. Static data counts as
/// loaded. Belongs to the isolation domain of its object.
@Observable
public final class LoadState {
    /// Whether a load is running, of any scope.
    public internal(set) var isLoading = false
    /// Whether a load of the next page is running.
    public internal(set) var isLoadingMore = false
    /// The time of the last successful load from the beginning, minus the age of its data (``Loadable/age(of:)``).
    /// `nil` before such a load.
    public internal(set) var loadedAt: Date?
    /// The error of the last load. `nil` during a load and after a successful one.
    public internal(set) var error: (any Error)?
    /// The failed load; `nil` without an error, or if the load could not begin.
    @ObservationIgnored private(set) var failedLoad: Load?
    /// The age at which data becomes outdated. One day by default; `nil` for never.
    public var expiry: Duration? = .seconds(86_400)
    /// Whether the data was marked as outdated.
    private(set) var isInvalid = false
    /// The number of times that the data was marked as outdated.
    @ObservationIgnored private var invalidations = 0
    @ObservationIgnored private var invalidationsAtBegin = 0

    @ObservationIgnored private let source: () -> Bool
    @ObservationIgnored let now: () -> Date
    @ObservationIgnored var flight: LoadFlight?
    /// The order that the flight belongs to.
    @ObservationIgnored private var order: SyncOrder?
    @ObservationIgnored private let observers = Observers<LoadEvent>()

    /// Creates the state of an object that was never loaded.
    ///
    /// - Parameters:
    ///   - hasSource: Returns whether the object can be loaded; `false` for static data.
    ///   - now: Returns the current time, to compute the age of data.
    public init(hasSource: @escaping () -> Bool = { true }, now: @escaping () -> Date = { Date() }) {
        source = hasSource
        self.now = now
    }

    /// Whether the object can be loaded. `false` for static data.
    var hasSource: Bool { source() }

    /// Whether there is data.
    public var isLoaded: Bool { loadedAt != nil || !hasSource }

    /// Whether the data is older than ``expiry``, or was invalidated. `false` if no data was loaded.
    public var isOutdated: Bool {
        guard let loadedAt else { return false }
        guard !isInvalid, let expiry else { return isInvalid }
        return now().timeIntervalSince(loadedAt) > expiry / .seconds(1)
    }

    /// Calls `receive` with the events of loading, until the token is deallocated.
    ///
    /// - Parameters:
    ///   - kinds: The kinds of events to receive; all of them by default.
    ///   - receive: Called in the isolation domain of the object.
    package func observe(
        _ kinds: Set<LoadEvent.Kind> = Set(LoadEvent.Kind.allCases), receive: @escaping (LoadEvent) -> Void
    ) -> ObserverToken {
        observers.add { event in
            if kinds.contains(event.kind) { receive(event) }
        }
    }

    /// Cancels the running load. Its callers get a `CancellationError`, and its data is not applied.
    package func cancel() {
        guard let flight else { return }
        endFlight()
        flight.end(.canceled)
        observers.notify(.canceled)
    }
}

// MARK: Transitions

extension LoadState {
    /// Begins a load. Replaces the running one.
    func begin(_ flight: LoadFlight, in order: SyncOrder?) {
        let old = self.flight
        if let old { self.order?.end(old.time) }
        self.flight = flight
        self.order = order
        invalidationsAtBegin = invalidations
        isLoading = true
        isLoadingMore = flight.load.scope == .more
        error = nil
        failedLoad = nil
        old?.end(.superseded(by: flight))
        observers.notify(.started(isMore: isLoadingMore))
    }

    /// Ends a successful load.
    ///
    /// - Parameter age: The age of the data; `nil` if the load has brought only a part of it.
    func finish(age: Duration?) {
        let isMore = isLoadingMore
        endFlight()
        if let age {
            loadedAt = now().addingTimeInterval(-(age / .seconds(1)))
            // Data that was invalidated during the load is outdated.
            isInvalid = invalidations != invalidationsAtBegin
        }
        observers.notify(.finished(isMore: isMore))
    }

    func fail(_ error: any Error) {
        failedLoad = flight?.load
        if flight != nil { endFlight() }
        self.error = error
        observers.notify(.failed(error))
    }

    /// Takes the state of an observed query, unless a load is running.
    ///
    /// - Parameter date: The time of new data that is in place; `nil` if there is none.
    func follow(isFetching: Bool, date: Date?, error: (any Error)?) {
        guard flight == nil else { return }
        let hasBegun = isFetching && !isLoading
        let hasFailed = error != nil && (isLoading || self.error == nil) && !isFetching
        if isLoading != isFetching { isLoading = isFetching }
        if self.error != nil || error != nil { self.error = error }
        if let date {
            loadedAt = date
            isInvalid = false
            observers.notify(.finished(isMore: false))
        }
        if hasBegun { observers.notify(.started(isMore: false)) }
        if hasFailed, let error { observers.notify(.failed(error)) }
    }

    /// Ends the following of a query.
    func endFollowing() {
        guard flight == nil, isLoading else { return }
        isLoading = false
        observers.notify(.canceled)
    }

    /// Sets the time of a load from an archive, or of the save that created the object.
    func noteLoad(at date: Date?, isInvalid: Bool = false) {
        loadedAt = date
        self.isInvalid = isInvalid
    }

    func invalidate() {
        invalidations += 1
        guard loadedAt != nil else { return }
        isInvalid = true
        observers.notify(.invalidated)
    }

    func reset() {
        cancel()
        loadedAt = nil
        error = nil
        failedLoad = nil
        isInvalid = false
        observers.notify(.reset)
    }

    private func endFlight() {
        if let flight { order?.end(flight.time) }
        flight = nil
        order = nil
        isLoading = false
        isLoadingMore = false
    }
}

/// An event of loading.
public enum LoadEvent {
    /// A load has begun.
    case started(isMore: Bool)
    /// A load has ended, and its data is in place.
    case finished(isMore: Bool)
    /// A load has failed; the data is as before.
    case failed(any Error)
    /// A load was canceled; the data is as before.
    case canceled
    /// The data was marked as outdated.
    case invalidated
    /// The object was reset to its state before any load.
    case reset

    public enum Kind: Hashable, Sendable, CaseIterable {
        case started, finished, failed, canceled, invalidated, reset
    }

    public var kind: Kind {
        switch self {
        case .started: .started
        case .finished: .finished
        case .failed: .failed
        case .canceled: .canceled
        case .invalidated: .invalidated
        case .reset: .reset
        }
    }
}

@available(*, unavailable)
extension LoadState: Sendable {}
