import DiamondSQLite
import Synchronization

/// The recent invalidations, erasures and logouts, numbered by one counter.
///
/// A response that was requested before an invalidation and arrives after it is as old as the invalidated entry.
/// Callers read the ``position`` when they resolve a request, look up its stored response and start its exchange.
/// Later they query the log for changes since that position. If the log no longer has all of them, it returns `true`.
final class InvalidationLog: Sendable {
    private struct Change<Subject> {
        let position: LogPosition
        let subject: Subject
    }

    struct Selection: Sendable {
        let content: CacheSelection
        /// Whether it includes entries of the same path with other queries: `true` for an unsafe request, `false` for
        /// an invalidation by the app.
        let reachesOtherQueries: Bool

        func includes(_ subject: CacheSubject) -> Bool {
            if content.includes(subject) { return true }
            guard reachesOtherQueries, subject.isFoundByOthers, case .url(let url) = content.criterion else {
                return false
            }
            return url.withoutQuery == subject.url.withoutQuery
        }
    }

    /// The changes. Each kind has its own log, so that many invalidations do not look as if everything had been erased.
    private struct State {
        var position = LogPosition.start
        var erasures = RecentLog<Change<Selection>>()
        var invalidations = RecentLog<Change<Selection>>()
        var logouts = RecentLog<Change<String>>()
    }

    private let announcements = Broadcast<CacheInvalidation>()
    private let state = Guarded(State())
    /// The count of the state's position, outside the lock because every request reads it.
    private let count = Atomic(0)
    private let change = Atomic<Int64>(-1)

    /// The current end of the log.
    var position: LogPosition { LogPosition(count: count.load(ordering: .acquiring)) }

    /// The position of the newest change of the store that this process knows; `nil` without a store.
    var knownChange: ChangePosition? {
        get {
            let change = change.load(ordering: .acquiring)
            return change < 0 ? nil : ChangePosition(rawValue: change)
        }
        set { change.store(newValue?.rawValue ?? -1, ordering: .releasing) }
    }

    /// Adds an erasure or invalidation by the app.
    func add(_ selection: CacheSelection, isErasure: Bool) {
        let selection = Selection(content: selection, reachesOtherQueries: false)
        append { state, position in
            let change = Change(position: position, subject: selection)
            if isErasure { state.erasures.append(change) } else { state.invalidations.append(change) }
        }
    }

    /// Adds the change of a resource by an unsafe request (RFC 9111 section 4.4).
    func addChange(of url: String) {
        let selection = Selection(content: .url(url), reachesOtherQueries: true)
        append { $0.invalidations.append(Change(position: $1, subject: selection)) }
    }

    /// Adds the logout of an identity.
    func addLogout(of identity: String) {
        append { $0.logouts.append(Change(position: $1, subject: identity)) }
    }

    // MARK: Observers

    /// Adds an observer of completed changes.
    ///
    /// - Parameter observer: called on any thread; it must return quickly.
    /// - Returns: the number for ``removeObserver(_:)``.
    func addObserver(_ observer: @escaping @Sendable (CacheInvalidation) -> Void) -> Int { announcements.add(observer) }

    func removeObserver(_ number: Int) { announcements.remove(number) }

    /// Tells observers of a change that is complete: a lookup finds no entry that it concerns fresh.
    func announce(_ invalidation: CacheInvalidation) { announcements.send(invalidation) }

    // MARK: Recording

    private func append(_ change: (inout State, LogPosition) -> Void) {
        state.withLock { state in
            change(&state, state.position)
            state.position = LogPosition(count: state.position.count + 1)
            count.store(state.position.count, ordering: .releasing)
        }
    }

    /// Whether a subject was invalidated or erased since a position.
    func includes(_ subject: CacheSubject, since position: LogPosition, onlyErasures: Bool = false) -> Bool {
        guard self.position != position else { return false }
        return state.withLock { state in
            Self.contains(state.erasures, since: position) { $0.includes(subject) }
                || !onlyErasures && Self.contains(state.invalidations, since: position) { $0.includes(subject) }
        }
    }

    /// Whether an identity was logged out since a position; `false` for no identity.
    func hasLogout(of identity: String?, since position: LogPosition) -> Bool {
        guard let identity, self.position != position else { return false }
        return state.withLock { Self.contains($0.logouts, since: position) { $0.isExactly(identity) } }
    }

    private static func contains<Subject>(
        _ log: RecentLog<Change<Subject>>,
        since position: LogPosition,
        where predicate: (Subject) -> Bool
    ) -> Bool {
        log.contains(where: { predicate($0.subject) }, since: { $0.position >= position })
    }
}

/// The properties that identify an entry before it exists.
struct CacheSubject: Sendable {
    let key: RequestKey
    /// ``CacheEntry/url``.
    let url: String
    /// ``CacheEntry/isFoundByOthers``.
    let isFoundByOthers: Bool
    var tags: Tags
    let identity: String?
}

extension CacheSelection {
    /// Whether it includes a response that is being requested. Selections by age include stored entries only.
    func includes(_ subject: CacheSubject) -> Bool {
        switch criterion {
        case .all, .sealedHost, .sealedIdentities: true
        case .key(let key): key == subject.key
        case .keys(let keys, _): keys.contains(subject.key)
        case .tag(let tag): subject.tags.contains(tag)
        case .identity(let identity): subject.identity.isExactly(identity)
        case .url(let url): url == subject.url
        case .urlPrefix(let prefix): subject.url.hasPrefix(prefix)
        case .host(let host): URLHost.of(subject.url).map { $0 == host } ?? false
        case .storedBefore, .expired: false
        }
    }
}
