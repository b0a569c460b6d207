import DiamondSQLite
import HTTPTypes

/// The activity that counts a connection, from its start until it has finished.
extension Connection {
    /// Begins to count the connection; without effect where it is counted already, has finished, or has no engine.
    func count() {
        let pipeline = core.withLock { core in
            core.token == nil && !core.life.isFinished ? core.home?.pipeline : nil
        }
        guard let pipeline else { return }
        let token = pipeline.begin(.request, request)
        let (isTaken, isHoldNew) = core.withLock { core in
            guard core.token == nil, !core.life.isFinished else { return (false, false) }
            core.token = token
            return (true, core.isHoldNew)
        }
        guard isTaken else { return token.end() }
        // Paused before it was counted, and about to wait, it takes no step that would tell.
        if isHoldNew { countHold() }
    }

    /// Counts that the connection is held, or is no longer.
    func countHold() {
        while let news = core.withLock({ $0.takeHoldNews() }) {
            news.ended?.end()
            let token = news.isHeld ? news.pipeline?.begin(.pause, request, of: news.parent) : nil
            core.withLock { $0.hold.count(token) }
        }
    }
}

extension Connection.Core {
    fileprivate struct HoldNews {
        var isHeld: Bool
        var ended: ActivityToken?
        var parent: ActivityInterval.ID?
        var pipeline: Pipeline?
    }

    private var isHeld: Bool { life.state == .paused && token != nil }

    var isHoldNew: Bool { hold.isNew(isHeld) }

    fileprivate mutating func takeHoldNews() -> HoldNews? {
        guard isHoldNew else { return nil }
        return HoldNews(isHeld: isHeld, ended: hold.beginCounting(), parent: token?.id, pipeline: home?.pipeline)
    }
}
