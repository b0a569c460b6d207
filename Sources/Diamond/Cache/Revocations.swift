import DiamondSQLite
import Synchronization

/// What was invalidated or erased lately: an answer that was asked for before, and comes after, is as old as what was
/// meant.
final class Revocations: Sendable {
    private struct Revocation {
        let number: Int
        let selection: CacheSelection
        /// Whether it means what others of the same path find, too: an unsafe request does, the app by its word does not.
        let reachesOthers: Bool

        func includes(_ subject: CacheSubject) -> Bool {
            if selection.includes(subject) { return true }
            guard reachesOthers, subject.isFoundByOthers, case .url(let url) = selection.content else { return false }
            return url.withoutQuery == subject.url.withoutQuery
        }
    }

    /// Two logs, so that many invalidations do not make one look as if everything had been erased.
    private struct State {
        /// Of both together.
        var count = 0
        var erasures = RecentLog<Revocation>()
        var invalidations = RecentLog<Revocation>()
    }

    private let state = Guarded(State())
    /// Of the state, and apart from it, because every request asks: a lock here would be everybody's.
    private let total = Atomic(0)

    /// How many there were. Noted where a request is sent, for ``include(_:since:)``.
    var count: Int { total.load(ordering: .acquiring) }

    func add(_ selection: CacheSelection, isErasure: Bool) {
        add(selection, isErasure: isErasure, reachesOthers: false)
    }

    /// What is stored of a URL is no longer so on the server.
    func addChange(of url: String) { add(.url(url), isErasure: false, reachesOthers: true) }

    private func add(_ selection: CacheSelection, isErasure: Bool, reachesOthers: Bool) {
        state.withLock { state in
            let revocation = Revocation(number: state.count, selection: selection, reachesOthers: reachesOthers)
            if isErasure { state.erasures.append(revocation) } else { state.invalidations.append(revocation) }
            state.count += 1
            total.store(state.count, ordering: .releasing)
        }
    }

    /// Whether one since then has meant a subject.
    func include(_ subject: CacheSubject, since instant: Int, onlyErasures: Bool = false) -> Bool {
        let isMeant = { (log: RecentLog<Revocation>) in
            log.contains(where: { $0.includes(subject) }, since: { $0.number >= instant })
        }
        return state.withLock { isMeant($0.erasures) || (!onlyErasures && isMeant($0.invalidations)) }
    }
}

/// What an entry is known by, before there is one.
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
