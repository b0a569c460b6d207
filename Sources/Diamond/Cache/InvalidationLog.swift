import DiamondSQLite
import Synchronization

/// The recent invalidations, erasures and logouts, numbered by one counter.
///
/// A response that was requested before a change and arrives after it is as old as what was changed. Callers take an instant
/// (``now``) when they resolve a request, look up its stored response and start its exchange, and ask later what has happened
/// since. When more has happened than is kept, the log answers that the change has happened.
final class InvalidationLog: Sendable {
    /// A number of changes.
    typealias Instant = Int

    private struct Change<Subject> {
        let instant: Instant
        let subject: Subject
    }

    private struct Selection {
        let content: CacheSelection
        /// Whether entries of the same path with other queries are meant, too: an unsafe request means them, the app's own
        /// invalidation does not.
        let reachesOtherQueries: Bool

        func includes(_ subject: CacheSubject) -> Bool {
            if content.includes(subject) { return true }
            guard reachesOtherQueries, subject.isFoundByOthers, case .url(let url) = content.content else {
                return false
            }
            return url.withoutQuery == subject.url.withoutQuery
        }
    }

    /// A log each, so that many invalidations do not look as if everything had been erased.
    private struct State {
        var count = 0
        var erasures = RecentLog<Change<Selection>>()
        var invalidations = RecentLog<Change<Selection>>()
        var logouts = RecentLog<Change<String>>()
    }

    private let state = Guarded(State())
    /// The state's count, apart from it because every request reads it.
    private let count = Atomic(0)

    /// The instant now.
    var now: Instant { count.load(ordering: .acquiring) }

    /// Notes that the app has erased or invalidated a selection.
    func add(_ selection: CacheSelection, isErasure: Bool) {
        let selection = Selection(content: selection, reachesOtherQueries: false)
        append { state, instant in
            let change = Change(instant: instant, subject: selection)
            if isErasure { state.erasures.append(change) } else { state.invalidations.append(change) }
        }
    }

    /// Notes that an unsafe request may have changed a resource (RFC 9111 section 4.4).
    func addChange(of url: String) {
        let selection = Selection(content: .url(url), reachesOtherQueries: true)
        append { $0.invalidations.append(Change(instant: $1, subject: selection)) }
    }

    /// Notes that an identity was forgotten.
    func addLogout(of identity: String) {
        append { $0.logouts.append(Change(instant: $1, subject: identity)) }
    }

    private func append(_ change: (inout State, Instant) -> Void) {
        state.withLock { state in
            change(&state, state.count)
            state.count += 1
            count.store(state.count, ordering: .releasing)
        }
    }

    /// Whether a subject was invalidated or erased since an instant.
    func includes(_ subject: CacheSubject, since instant: Instant, onlyErasures: Bool = false) -> Bool {
        guard now != instant else { return false }
        return state.withLock { state in
            Self.contains(state.erasures, since: instant) { $0.includes(subject) }
                || !onlyErasures && Self.contains(state.invalidations, since: instant) { $0.includes(subject) }
        }
    }

    /// Whether an identity was forgotten since an instant; `false` for none.
    func hasLogout(of identity: String?, since instant: Instant) -> Bool {
        guard let identity, now != instant else { return false }
        return state.withLock { Self.contains($0.logouts, since: instant) { $0.isExactly(identity) } }
    }

    private static func contains<Subject>(
        _ log: RecentLog<Change<Subject>>,
        since instant: Instant,
        where predicate: (Subject) -> Bool
    ) -> Bool {
        log.contains(where: { predicate($0.subject) }, since: { $0.instant >= instant })
    }
}

/// The properties that identify an entry before it exists.
struct CacheSubject: Sendable {
    let key: RequestKey
    /// ``CacheEntry/url``.
    let url: String
    /// ``CacheEntry/isFoundByOthers``.
    let isFoundByOthers: Bool
    let tags: Set<String>
    let identity: String?
}

extension CacheSelection {
    /// Whether it names what is being asked for. What names by age means what is stored, not this.
    fileprivate func includes(_ subject: CacheSubject) -> Bool {
        switch content {
        case .all, .sealedHost: true
        case .key(let key): key == subject.key
        case .keys(let keys, _): keys.contains(subject.key)
        case .tag(let tag): subject.tags.containsExactly(tag)
        case .identity(let identity): subject.identity.isExactly(identity)
        case .url(let url): url == subject.url
        case .urlPrefix(let prefix): subject.url.hasPrefix(prefix)
        case .host(let host): URLHost.of(subject.url).map { $0 == host } ?? false
        case .storedBefore, .expired: false
        }
    }
}
