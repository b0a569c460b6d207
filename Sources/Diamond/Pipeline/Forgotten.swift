import DiamondSQLite
import Synchronization

/// Identities that were forgotten lately: what was under way for them then is not stored.
final class Forgotten: Sendable {
    private let log = Guarded(RecentLog<String>())
    /// Apart from the log, because every request asks: a lock here would be everybody's.
    private let length = Atomic(0)

    /// How many times something was forgotten.
    var count: Int { length.load(ordering: .acquiring) }

    func add(_ identity: String) {
        log.withLock { log in
            log.append(identity)
            length.store(log.count, ordering: .releasing)
        }
    }

    /// Whether an identity was forgotten since then.
    func has(_ identity: String?, since epoch: Int) -> Bool {
        guard let identity else { return false }
        return log.withLock { log in log.contains(since: epoch) { $0.isExactly(identity) } }
    }

    /// Whether the identity of what is on its way was forgotten since it set out.
    func has(_ passage: Passage) -> Bool { has(passage.wire.identity, since: passage.epoch) }
}
