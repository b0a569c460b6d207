import DiamondSQLite

/// Identities that were forgotten lately: what was under way for them then is not stored.
final class Forgotten: Sendable {
    private let log = Guarded(RecentLog<String>())

    /// How many times something was forgotten.
    var count: Int { log.withLock { $0.count } }

    func add(_ identity: String) { log.withLock { $0.append(identity) } }

    /// Whether an identity was forgotten since then.
    func has(_ identity: String?, since epoch: Int) -> Bool {
        guard let identity else { return false }
        return log.withLock { log in log.contains(since: epoch) { $0 == identity } }
    }

    /// Whether the identity of what is on its way was forgotten since it set out.
    func has(_ passage: Passage) -> Bool { has(passage.wire.identity, since: passage.epoch) }
}
