/// The record that a queue's time is computed from. It is a value, stored in the queue's file.
///
/// A wall clock may be wrong, and may be set later: for example on a board without a battery, or on a phone that has
/// not received the time yet. So the queue's time follows the wall clock only while the wall clock and the boot clock,
/// which counts from the start of the machine, advance together. If the wall clock is set, the queue's time continues
/// by the boot clock. Waits, expiries and other periods keep their lengths.
package struct QueueClock: Hashable, Sendable {
    /// The id of the boot to which the other values belong.
    var boot: String
    /// The queue's time at the start of that boot.
    var timeAtBoot: QueueTime
    /// The time of the last reading, by the boot clock.
    var uptime: Uptime
    /// The time of the last reading, by the wall clock.
    var wall: WallTime
    /// The time for which the machine was off, by the wall clock, if it is not confirmed yet; 0 otherwise. In
    /// milliseconds.
    var unconfirmedOffTime: Int64 = 0
    /// The time since which the two clocks have advanced together, by the boot clock. It matters only while
    /// ``unconfirmedOffTime`` is not 0.
    var inStepSince = Uptime(rawValue: 0)

    /// The difference from the queue's time within which the wall clock counts as right, in milliseconds. It allows for
    /// slewing, or a change of a few seconds.
    static let tolerance: Int64 = 60_000
    /// The longest time off that is accepted at the first reading, in milliseconds: a day. A longer one has to be
    /// confirmed.
    static let plausibleOffTime: Int64 = 86_400_000
    /// The time for which the two clocks have to advance together to confirm a longer time off, in milliseconds.
    static let confirmationTime: Int64 = 3_600_000
    /// The largest number of a record, in milliseconds: about 35,000 years. A damaged file may contain any number. The
    /// queue's time, and each time that is computed from it, is then one that rows can store (``ClockTime/bounded``).
    static let largest: Int64 = 1 << 50

    /// Creates the record of a new queue, whose time is the wall clock's.
    package init(_ reading: Reading) {
        self.init(
            boot: reading.boot, timeAtBoot: QueueTime(correct: reading.wallAtBoot), uptime: reading.uptime,
            wall: reading.wall)
    }

    init(
        boot: String, timeAtBoot: QueueTime, uptime: Uptime, wall: WallTime, unconfirmedOffTime: Int64 = 0,
        inStepSince: Uptime = Uptime(rawValue: 0)
    ) {
        self.boot = boot
        self.timeAtBoot = Self.limited(timeAtBoot)
        self.uptime = Self.limited(uptime)
        self.wall = Self.limited(wall)
        self.unconfirmedOffTime = unconfirmedOffTime.clamped(to: -Self.largest...Self.largest)
        self.inStepSince = Self.limited(inStepSince)
    }

    private static func limited<Time: ClockTime>(_ time: Time) -> Time {
        Time(rawValue: time.rawValue.clamped(to: -largest...largest))
    }

    /// The values of both clocks at one moment.
    package struct Reading: Hashable, Sendable {
        var boot: String
        package var uptime: Uptime
        var wall: WallTime

        /// The time of the boot, by the current wall clock.
        fileprivate var wallAtBoot: WallTime { wall - uptime.rawValue }
    }

    /// Returns the queue's time at a reading, and its difference from the wall clock.
    package func moment(at reading: Reading) -> ReplayMoment {
        let steady = timeAtBoot + reading.uptime.rawValue
        let lead = reading.wall.milliseconds(since: steady.correctWall)
        return lead.magnitude <= Self.tolerance
            ? ReplayMoment(time: QueueTime(correct: reading.wall), lead: 0) : ReplayMoment(time: steady, lead: lead)
    }

    /// Whether a reading may change the record, or the record has not been updated for a minute.
    func needsUpdate(for reading: Reading) -> Bool {
        unconfirmedOffTime > 0 || reading.uptime >= uptime + Self.tolerance || isOfOtherBoot(reading)
            || !isInStep(reading)
    }

    /// Returns the record after another reading.
    package func updated(by reading: Reading) -> QueueClock {
        var next = self
        if isOfOtherBoot(reading) {
            next.startBoot(at: reading)
        } else if unconfirmedOffTime > 0 {
            next.confirmOffTime(by: reading)
        }
        return QueueClock(
            boot: reading.boot, timeAtBoot: next.timeAtBoot, uptime: reading.uptime, wall: reading.wall,
            unconfirmedOffTime: next.unconfirmedOffTime, inStepSince: next.inStepSince)
    }

    /// The last reading.
    private var reading: Reading { Reading(boot: boot, uptime: uptime, wall: wall) }

    private func isOfOtherBoot(_ reading: Reading) -> Bool {
        boot != reading.boot || reading.uptime < uptime - Self.tolerance
    }

    private func isInStep(_ reading: Reading) -> Bool { jump(to: reading).magnitude <= Self.tolerance }

    /// Returns the time by which the wall clock was set forward since the last reading; negative if it was set back.
    private func jump(to reading: Reading) -> Int64 {
        reading.wallAtBoot.milliseconds(since: self.reading.wallAtBoot)
    }

    /// Continues after a start of the machine. The queue's time does not go back, whatever the wall clock says now.
    private mutating func startBoot(at reading: Reading) {
        timeAtBoot = moment(at: self.reading).time
        unconfirmedOffTime = 0
        inStepSince = reading.uptime
        addOffTime(reading.wallAtBoot.milliseconds(since: wall))
    }

    /// Adds the time for which the machine was off, if it is plausible.
    ///
    /// - Parameter time: the time by the wall clock. No other clock has counted it.
    private mutating func addOffTime(_ time: Int64) {
        if time > Self.plausibleOffTime { unconfirmedOffTime = time } else { timeAtBoot += max(0, time) }
    }

    private mutating func confirmOffTime(by reading: Reading) {
        guard isInStep(reading) else {
            // The wall clock was set: so it was wrong before, and may be right now.
            let time = unconfirmedOffTime.addingSaturating(jump(to: reading))
            unconfirmedOffTime = 0
            inStepSince = reading.uptime
            return addOffTime(time)
        }
        guard reading.uptime >= inStepSince + Self.confirmationTime else { return }
        timeAtBoot += unconfirmedOffTime
        unconfirmedOffTime = 0
    }
}
