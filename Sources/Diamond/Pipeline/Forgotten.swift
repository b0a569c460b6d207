import DiamondSQLite

/// Identities that were forgotten lately: what was under way for them then is not stored.
final class Forgotten: Sendable {
    private let log = Guarded(RecentLog<String>())

    /// How many times something was forgotten.
    var count: Int { log.withLock { $0.count } }

    func add(_ identity: String) { log.withLock { $0.append(identity) } }

    /// Whether the identity of what is on its way was forgotten since it set out.
    func has(_ passage: Passage) -> Bool {
        guard let identity = passage.wire.identity else { return false }
        return log.withLock { log in log.contains(since: passage.epoch) { $0 == identity } }
    }
}
