/// What a queue knows of its time: how it follows from the clock that counts from the boot of the machine. Pure, and in the file.
///
/// A wall clock may be wrong and be set: that of a board without a battery, or of a phone that has not heard the time yet. So
/// the queue's time is the wall clock's only while that keeps step with the boot clock. Where it is set, the time goes on by
/// the boot clock, and all that waits, expires or is counted back waits as long as it would have.
struct QueueReckoning: Hashable, Sendable {
    /// Which start of the machine the other values are of.
    var boot: String
    /// The queue's time when that boot's clock stood at 0; milliseconds since 1970.
    var zero: Int64
    /// By the boot clock, the last time that somebody looked.
    var uptime: Int64
    /// By the wall clock, the same time.
    var wall: Int64
    /// How much time the wall clock says has passed while the machine was off, where that is not believed yet; else 0.
    var doubt: Int64 = 0
    /// Since when the wall clock has kept step with the boot clock, where it is in doubt; by the latter.
    var since: Int64 = 0

    /// How far the wall clock may be from the queue's time and count as right: slewed a little, or set by a few seconds.
    static let tolerance: Int64 = 60_000
    /// Time that is believed to have passed while the machine was off, at the first look: a day. More has to be confirmed.
    static let plausibleLeap: Int64 = 86_400_000
    /// How long the wall clock has to keep step with the boot clock to be believed then.
    static let proof: Int64 = 3_600_000

    /// A queue that is new goes by the wall clock.
    init(_ look: Look) {
        (boot, zero, uptime, wall) = (look.boot, look.wall - look.uptime, look.uptime, look.wall)
    }

    init(boot: String, zero: Int64, uptime: Int64, wall: Int64, doubt: Int64, since: Int64) {
        (self.boot, self.zero, self.uptime, self.wall) = (boot, zero, uptime, wall)
        (self.doubt, self.since) = (doubt, since)
    }

    /// What the clocks say at one moment.
    struct Look: Hashable, Sendable {
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

    /// The same after another look.
    func after(_ look: Look) -> QueueReckoning {
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
