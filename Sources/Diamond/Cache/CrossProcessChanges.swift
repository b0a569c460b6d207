import DiamondSQLite
import Foundation
import Synchronization

/// The changes by other processes to entries that this process may have in memory.
///
/// Looks a few times a second when it is asked, not at every hit. A look checks whether the file is still the one that
/// was opened, and reads the table of changes since the last look.
final class CrossProcessChanges: Sendable {
    enum News {
        /// Entries that were replaced, removed or marked stale.
        case entries(CacheNames)
        case everything
        case failure(CacheError)
    }

    private struct State {
        var lastChange: Int64
        var generation: Int
    }

    /// Nanoseconds between two looks: how long an answer may come from memory that another process has replaced.
    static let interval: UInt64 = 100_000_000

    /// The presence of partial entries, which a look updates, too.
    let partials = PartialPresence()
    private let file: CacheFile
    private let uptime: @Sendable () -> UInt64
    private let state: Guarded<State>
    /// Apart from the state, because every hit asks: a lock here would be everybody's.
    private let nextLook: Atomic<UInt64>

    /// - Parameter uptime: nanoseconds of a clock that only goes forward.
    init(file: CacheFile, uptime: @escaping @Sendable () -> UInt64) throws(CacheError) {
        self.file = file
        self.uptime = uptime
        let generation = file.generation
        let last = try file.read(CacheTable.newestChange)
        state = Guarded(State(lastChange: last, generation: generation))
        nextLook = Atomic(uptime() + Self.interval)
    }

    /// Whether it is time for a look.
    var isDue: Bool { uptime() >= nextLook.load(ordering: .relaxed) }

    /// `nil` where it is too early to look, or nothing has happened.
    func news() -> News? {
        let (now, next) = (uptime(), nextLook.load(ordering: .relaxed))
        // Of those who come at the same time, one looks.
        guard now >= next,
            nextLook.compareExchange(expected: next, desired: now + Self.interval, ordering: .relaxed).exchanged
        else { return nil }
        return look(state.withLock { $0 })
    }

    private func look(_ known: State) -> News? {
        do throws(CacheError) {
            try file.reopenIfReplaced(patience: CacheFile.moment)
            let generation = file.generation
            let instant = partials.instant
            let (names, newest, arePartials) = try file.read { (connection) throws(SQLiteError) in
                let (names, newest) = try CacheTable.changes(after: known.lastChange, on: connection)
                return (names, newest, try CacheTable.arePartials(on: connection))
            }
            partials.note(arePartials, since: instant)
            state.withLock { state in
                state.lastChange = newest
                state.generation = generation
            }
            guard generation == known.generation, let names else { return .everything }
            return names.isEmpty ? nil : .entries(names)
        } catch {
            return .failure(error)
        }
    }
}
