import Foundation
import Testing

@testable import Diamond

@Suite("The clock of a queue") struct QueueClockTests {
    static let hour: Int64 = 3_600_000
    static let day = 24 * hour
    static let year = 365 * day
    /// The time of the first reading, by the wall clock.
    static let start: WallTime = 1_767_225_600_000

    /// A reading of the clocks, relative to the first reading.
    struct Step: Sendable {
        var boot = "first"
        var uptime: Int64
        var wall: Int64
        /// The expected progress of the queue's time since the first reading.
        var passed: Int64

        init(_ uptime: Int64, _ wall: Int64, boot: String = "first", _ passed: Int64) {
            (self.uptime, self.wall, self.boot, self.passed) = (uptime, wall, boot, passed)
        }
    }

    static let courses: [(name: String, steps: [Step])] = [
        ("a clock that is right", [Step(hour, hour, hour), Step(40 * day, 40 * day, 40 * day)]),
        (
            "a clock that is slewed",
            [Step(hour, hour + 900, hour + 900), Step(2 * hour, 2 * hour - 30_000, 2 * hour - 30_000)]
        ),
        (
            "a clock that is set ahead, and right again",
            [Step(hour, year, hour), Step(2 * hour, 2 * hour, 2 * hour)]
        ),
        ("a clock that is set back", [Step(hour, -9 * day, hour), Step(3 * day, -6 * day, 3 * day)]),
        (
            "a night off",
            [Step(10, 10 * hour, boot: "second", 10 * hour), Step(hour, 11 * hour, boot: "second", 11 * hour)]
        ),
        (
            "a start with a clock that is behind",
            [Step(10, -year, boot: "second", 0), Step(hour, 20 * day, boot: "second", hour - 10)]
        ),
        (
            "a start with a clock that is far ahead, and set right soon",
            [
                Step(10, year, boot: "second", 0), Step(hour / 2, year + hour / 2, boot: "second", hour / 2 - 10),
                Step(hour, 5 * hour, boot: "second", 5 * hour),
                Step(9 * hour, 13 * hour, boot: "second", 13 * hour),
            ]
        ),
        (
            "ten days off",
            [
                Step(0, 10 * day, boot: "second", 0), Step(hour / 2, 10 * day + hour / 2, boot: "second", hour / 2),
                Step(hour, 10 * day + hour, boot: "second", 10 * day + hour),
                Step(9 * hour, 10 * day + 9 * hour, boot: "second", 10 * day + 9 * hour),
            ]
        ),
        (
            "a boot that has no name",
            [Step(-900_000, 2 * hour, 2 * hour), Step(-800_000, 2 * hour + 100_000, 2 * hour + 100_000)]
        ),
    ]

    @Test(arguments: courses.indices) func `a queue's clock runs as time passes, whatever the wall clock is set to`(
        index: Int
    ) {
        let (name, steps) = Self.courses[index]
        let begin: Uptime = 1_000_000
        var reckoning = QueueClock(.init(boot: "first", uptime: begin, wall: Self.start))
        for (number, step) in steps.enumerated() {
            let uptime = step.boot == "first" ? begin + step.uptime : Uptime(rawValue: step.uptime)
            let look = QueueClock.Reading(boot: step.boot, uptime: uptime, wall: Self.start + step.wall)
            reckoning = reckoning.updated(by: look)
            let error = abs(
                reckoning.moment(at: look).time.milliseconds(since: QueueTime(correct: Self.start)) - step.passed)
            #expect(error <= QueueClock.tolerance, "\(name), step \(number): off by \(error) ms")
        }
    }

    @Test func `a queue's clock is stored again where the clocks diverge, and otherwise once a minute`() {
        let reckoning = QueueClock(.init(boot: "first", uptime: 0, wall: Self.start))
        func needs(_ uptime: Uptime, _ wall: Int64, _ boot: String = "first") -> Bool {
            reckoning.needsUpdate(for: .init(boot: boot, uptime: uptime, wall: Self.start + wall))
        }
        #expect(!needs(59_000, 59_000) && needs(60_000, 60_000))
        #expect(needs(1000, Self.hour) && needs(1000, -Self.hour) && needs(1000, 1000, "second"))
    }

    /// The numbers of a damaged file. Waits and expiries are added to the queue's time, and stored in rows.
    @Test(arguments: [Int64.min, -(1 << 53), -1, 0, 1 << 53, .max])
    func `a queue's time from a record with any numbers is one that rows can store`(number: Int64) {
        let now = QueueClock.Reading(boot: "second", uptime: 1000, wall: Self.start)
        for index in 0..<5 {
            var numbers = [Self.start.rawValue, 1000, Self.start.rawValue, 0, 0]
            numbers[index] = number
            let record = QueueClock(
                boot: "first", timeAtBoot: QueueTime(rawValue: numbers[0]), uptime: Uptime(rawValue: numbers[1]),
                wall: WallTime(rawValue: numbers[2]), unconfirmedOffTime: numbers[3],
                inStepSince: Uptime(rawValue: numbers[4]))
            let next = record.updated(by: now)
            for time in [next.moment(at: now).time, next.updated(by: now).moment(at: now).time] {
                let latest = time + Duration.longest
                #expect(latest.bounded == latest && time.bounded == time, "column \(index): \(time)")
            }
        }
    }
}
