import DiamondSQLite
import Synchronization

/// The changes by other processes to entries that this process may have in memory.
///
/// A poll reads the changes since the last poll. Lookups trigger polls, at most ten times a second.
final class CrossProcessChanges: Sendable {
    /// The changes that a poll found.
    enum Update {
        /// Entries that were replaced, removed or marked stale.
        case entries(ChangedNames)
        case everything
        case failure(CacheError)
    }

    private struct State {
        var position: ChangePosition
        var generation: Int

        init(_ changes: CacheChanges) {
            position = changes.position
            generation = changes.generation
        }
    }

    /// The milliseconds between two polls: a lookup may return a response from memory for so long after another process
    /// has replaced it.
    static let interval: Int64 = 100

    /// The presence of partial entries, which a poll updates.
    let partials: PartialPresence
    /// The milliseconds between two polls of this storage. A server's changes take some milliseconds to arrive, and
    /// reading those that have arrived costs little.
    private let ownInterval: Int64
    private let storage: any DirectCacheStorage
    private let invalidations: InvalidationLog
    private let uptime: @Sendable () -> Uptime
    private let state: Guarded<State>
    /// The time of the next poll. It is not in the state, because every hit reads it: a lock would be contended.
    private let nextPoll: Atomic<Int64>

    /// - Parameter uptime: returns the current time.
    init(
        storage: any DirectCacheStorage, invalidations: InvalidationLog, uptime: @escaping @Sendable () -> Uptime
    ) throws(CacheError) {
        self.storage = storage
        self.invalidations = invalidations
        self.uptime = uptime
        let changes = try storage.changes(since: nil)
        partials = PartialPresence(isPossible: storage.isLocal)
        state = Guarded(State(changes))
        invalidations.knownChange = changes.position
        ownInterval = storage.isLocal ? Self.interval : Self.interval / 2
        nextPoll = Atomic((uptime() + ownInterval).rawValue)
    }

    /// Whether all changes are known, as far as a lookup has to know. When a poll is due, this is one without a wait,
    /// which takes some microseconds.
    ///
    /// - Returns: `false` if there are changes, or they cannot be read at once. The next ``poll(isDue:)`` reads them.
    func areKnown() -> Bool {
        guard let now = beginPoll(isDue: nil) else { return true }
        let known = state.withLock { $0 }
        let instant = partials.instant
        guard let found = storage.changesAtOnce(since: known.position), found.position == known.position,
            found.generation == known.generation, found.names?.isEmpty == true
        else {
            nextPoll.store(now.rawValue, ordering: .relaxed)
            return false
        }
        partials.note(found.hasParts, since: instant)
        return true
    }

    /// Sets the time of the next poll.
    ///
    /// - Returns: the time now; `nil` if it is too early to poll, or another lookup polls.
    private func beginPoll(isDue: Bool?) -> Uptime? {
        let now = uptime()
        let next = nextPoll.load(ordering: .relaxed)
        guard isDue ?? (now.rawValue >= next),
            nextPoll.compareExchange(
                expected: next, desired: (now + ownInterval).rawValue, ordering: .relaxed
            ).exchanged
        else { return nil }
        return now
    }

    /// Returns the changes since the last poll; `nil` if it is too early to poll, or nothing has changed.
    ///
    /// - Parameter isDue: whether it is time to poll; `nil` to decide by the interval.
    func poll(isDue: Bool? = nil) -> Update? {
        guard beginPoll(isDue: isDue) != nil else { return nil }
        return readChanges(since: state.withLock { $0 })
    }

    private func readChanges(since known: State) -> Update? {
        do throws(CacheError) {
            let instant = partials.instant
            let changes = try storage.changes(since: known.position)
            partials.note(changes.hasParts, since: instant)
            state.withLock { $0 = State(changes) }
            invalidations.knownChange = changes.position
            guard changes.generation == known.generation, let names = changes.names else { return .everything }
            return names.isEmpty ? nil : .entries(names)
        } catch {
            return .failure(error)
        }
    }
}
