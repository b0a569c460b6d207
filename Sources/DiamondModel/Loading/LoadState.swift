public import Foundation
public import Observation

/// The state of loading of an object: whether there is data, whether more is on its way, and how old it is.
///
/// Loaded, loading and outdated are independent: data that is there stays while newer is loaded. Static data counts as
/// loaded. Of the isolation domain of its object.
@Observable
public final class LoadState {
    /// Whether a load is under way, from the beginning or of more.
    public internal(set) var isLoading = false
    /// Whether a load of more is under way.
    public internal(set) var isLoadingMore = false
    /// The time at which the server had the data, as far as it says so: of the last load from the beginning that
    /// succeeded. `nil` before it.
    public internal(set) var loadedAt: Date?
    /// The error of the last load; `nil` while it is under way and after one that succeeded.
    public internal(set) var error: (any Error)?
    /// The load that has failed; `nil` where ``error`` is.
    @ObservationIgnored private(set) var failedLoad: Load?
    /// The age from which data is outdated; one day by default, `nil` never.
    public var expiry: Duration? = .seconds(86_400)
    /// Whether the data was marked as outdated.
    private(set) var isInvalid = false
    /// The number of times that the data was marked as outdated.
    @ObservationIgnored private var invalidations = 0
    @ObservationIgnored private var invalidationsAtBegin = 0

    @ObservationIgnored private let source: () -> Bool
    @ObservationIgnored let now: () -> Date
    @ObservationIgnored var flight: LoadFlight?
    /// The order that the flight is one of.
    @ObservationIgnored private var order: SyncOrder?
    @ObservationIgnored private let observers = Observers<LoadEvent>()

    /// Creates the state of an object that was never loaded.
    ///
    /// - Parameters:
    ///   - hasSource: returns whether the object is loaded from somewhere; `false` for static data.
    ///   - now: the clock that ages are taken from.
    public init(hasSource: @escaping () -> Bool = { true }, now: @escaping () -> Date = { Date() }) {
        source = hasSource
        self.now = now
    }

    /// Whether the object is loaded from somewhere; static data is not.
    public var hasSource: Bool { source() }

    /// Whether there is data.
    public var isLoaded: Bool { loadedAt != nil || !hasSource }

    /// Whether the data is older than ``expiry``, or was invalidated. Data that was never loaded is not outdated.
    public var isOutdated: Bool {
        guard let loadedAt else { return false }
        guard !isInvalid, let expiry else { return isInvalid }
        return now().timeIntervalSince(loadedAt) > expiry / .seconds(1)
    }

    /// Calls `receive` with the events of loading, until the token is deallocated.
    ///
    /// - Parameters:
    ///   - kinds: the events to be told; all of them by default.
    ///   - receive: called in the isolation domain of the object.
    public func observe(
        _ kinds: Set<LoadEvent.Kind> = Set(LoadEvent.Kind.allCases), _ receive: @escaping (LoadEvent) -> Void
    ) -> ObserverToken {
        observers.add { event in
            if kinds.contains(event.kind) { receive(event) }
        }
    }

    /// Ends the load that is under way: those who wait for it get a `CancellationError`, and what it would bring is not
    /// taken in.
    public func cancel() {
        guard let flight else { return }
        settle()
        flight.end(.canceled)
        observers.notify(.canceled)
    }
}

// MARK: Transitions

extension LoadState {
    /// Begins a load, in the place of the one that is under way.
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

    /// - Parameter age: the age of the data; `nil` where the load has not brought all that is there.
    func finish(age: Duration?) {
        let isMore = isLoadingMore
        settle()
        if let age {
            loadedAt = now().addingTimeInterval(-(age / .seconds(1)))
            // Data that was marked while it was under way is outdated.
            isInvalid = invalidations != invalidationsAtBegin
        }
        observers.notify(.finished(isMore: isMore))
    }

    func fail(_ error: any Error) {
        failedLoad = flight?.load
        if flight != nil { settle() }
        self.error = error
        observers.notify(.failed(error))
    }

    /// Takes over the time of a load from an archive, or of a save that has made the object.
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

    private func settle() {
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
    /// The object is as before any load: take it for a new one.
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
