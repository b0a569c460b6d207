/// The record from which a queue's time follows, by the clock that counts from the boot of the machine. Pure, and
/// stored in the file.
///
/// A wall clock may be wrong and be set: that of a board without a battery, or of a phone that has not heard the time
/// yet. So the queue's time is the wall clock's only while the two clocks keep step. If the wall clock is set, the
/// queue's time continues by the boot clock. Waits, expiries and other periods keep their lengths.
package struct QueueClock: Hashable, Sendable {
    /// The id of the boot to which the other values belong.
    var boot: String
    /// The queue's time when that boot's clock stood at 0; milliseconds since 1970.
    var zero: Int64
    /// The time of the last look, by the boot clock.
    var uptime: Int64
    /// The time of the last look, by the wall clock.
    var wall: Int64
    /// The time that passed while the machine was off, by the wall clock, if it is not believed yet; else 0.
    var doubt: Int64 = 0
    /// The time since which the two clocks have kept step, by the boot clock. It matters only while there is a doubt.
    var since: Int64 = 0

    /// The difference from the queue's time within which the wall clock counts as right. It allows for slewing, or a
    /// change of a few seconds.
    static let tolerance: Int64 = 60_000
    /// Time that is believed to have passed while the machine was off, at the first look: a day. More has to be confirmed.
    static let plausibleLeap: Int64 = 86_400_000
    /// The time for which the wall clock has to keep step with the boot clock to confirm a longer leap.
    static let proof: Int64 = 3_600_000

    /// A queue that is new goes by the wall clock.
    package init(_ look: Look) {
        (boot, zero, uptime, wall) = (look.boot, look.wall - look.uptime, look.uptime, look.wall)
    }

    init(boot: String, zero: Int64, uptime: Int64, wall: Int64, doubt: Int64, since: Int64) {
        (self.boot, self.zero, self.uptime, self.wall) = (boot, zero, uptime, wall)
        (self.doubt, self.since) = (doubt, since)
    }

    /// The clocks' values at one moment.
    package struct Look: Hashable, Sendable {
        var boot: String
        /// Milliseconds since the boot.
        var uptime: Int64
        /// Milliseconds since 1970.
        var wall: Int64
    }

    /// The queue's time, milliseconds since 1970.
    func time(_ look: Look) -> Int64 {
        let steady = zero + look.uptime
        return abs(look.wall - steady) <= Self.tolerance ? look.wall : steady
    }

    /// Whether a look may change it, or was the last for a while.
    func needs(_ look: Look) -> Bool {
        doubt > 0 || look.uptime - uptime >= Self.tolerance || isOther(look) || !isInStep(look)
    }

    /// Returns the reckoning after another look.
    package func after(_ look: Look) -> QueueClock {
        var next = self
        if isOther(look) { next.begin(look) } else if doubt > 0 { next.judge(look) }
        (next.boot, next.uptime, next.wall) = (look.boot, look.uptime, look.wall)
        return next
    }

    private func isOther(_ look: Look) -> Bool { boot != look.boot || look.uptime < uptime - Self.tolerance }

    private func isInStep(_ look: Look) -> Bool { abs(jump(to: look)) <= Self.tolerance }

    private func jump(to look: Look) -> Int64 { (look.wall - look.uptime) - (wall - uptime) }

    /// The machine was started. The queue's time has not gone back since, whatever the wall clock says now.
    private mutating func begin(_ look: Look) {
        let last = time(Look(boot: boot, uptime: uptime, wall: wall))
        (zero, doubt, since) = (last, 0, look.uptime)
        leap(look.wall - wall - look.uptime)
    }

    /// - Parameter time: that has passed while the machine was off, by the wall clock: nothing else has counted it.
    private mutating func leap(_ time: Int64) {
        if time > Self.plausibleLeap { doubt = time } else { zero += max(0, time) }
    }

    private mutating func judge(_ look: Look) {
        guard isInStep(look) else {
            // It was set: so it was wrong before, and may be right now.
            let time = doubt + jump(to: look)
            (doubt, since) = (0, look.uptime)
            return leap(time)
        }
        guard look.uptime - since >= Self.proof else { return }
        (zero, doubt) = (zero + doubt, 0)
    }
}
