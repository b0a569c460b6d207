import DiamondSQLite
import HTTPTypes

/// The counting of a connection in the engine's activity.
extension Connection {
    /// Begins to count the connection. Has no effect if it is counted already, has finished, or has no engine.
    func beginActivity() {
        let pipeline = core.withLock { core in
            core.activityToken == nil && !core.life.isFinished ? core.registry?.pipeline : nil
        }
        guard let pipeline else { return }
        let token = pipeline.begin(.request, for: request)
        let (isSet, isPauseUnrecorded) = core.withLock { core in
            guard core.activityToken == nil, !core.life.isFinished else { return (false, false) }
            core.activityToken = token
            return (true, core.isPauseUnrecorded)
        }
        guard isSet else { return token.end() }
        // A connection that was paused before it was counted takes no further step that would record the pause.
        if isPauseUnrecorded { recordPause() }
    }

    /// Updates the count of paused connections.
    func recordPause() {
        while let change = core.withLock({ $0.beginRecordingPause() }) {
            change.ended?.end()
            let token = change.isHeld ? change.pipeline?.begin(.pause, for: request, of: change.parent) : nil
            core.withLock { $0.pauseCounter.endCounting(token) }
        }
    }
}

extension Connection.Core {
    fileprivate struct PauseChange {
        var isHeld: Bool
        var ended: ActivityToken?
        var parent: ActivityInterval.ID?
        var pipeline: Pipeline?
    }

    private var isHeld: Bool { life.state == .paused && activityToken != nil }

    var isPauseUnrecorded: Bool { pauseCounter.needsCounting(isHeld) }

    fileprivate mutating func beginRecordingPause() -> PauseChange? {
        guard isPauseUnrecorded else { return nil }
        return PauseChange(
            isHeld: isHeld, ended: pauseCounter.beginCounting(), parent: activityToken?.id, pipeline: registry?.pipeline
        )
    }
}

/// The record of whether a pause has been counted. One thread counts at a time. A thread that finds another one
/// counting leaves the count to it.
struct PauseCounter {
    private var token: ActivityToken?
    private var isCounting = false

    /// Whether the count differs from the pause, and no thread is changing it.
    func needsCounting(_ isHeld: Bool) -> Bool { !isCounting && isHeld != (token != nil) }

    /// Begins a change of the count, which ``endCounting(_:)`` ends.
    ///
    /// - Returns: the token of the pause that has ended; `nil` if none was counted.
    mutating func beginCounting() -> ActivityToken? {
        isCounting = true
        defer { token = nil }
        return token
    }

    mutating func endCounting(_ token: ActivityToken?) {
        self.token = token
        isCounting = false
    }
}
