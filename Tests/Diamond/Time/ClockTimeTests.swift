import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A time of a clock") struct ClockTimeTests {
    @Test(
        arguments: [
            (0, 5, 5), (5, -7, -2), (.max, 1, .max), (.max - 1, 5, .max), (.min, -1, .min), (.min, .max, -1),
            (.max, .min, -1),
        ] as [(WallTime, Int64, WallTime)])
    func `a sum beyond the range is the last time of the range`(time: WallTime, milliseconds: Int64, sum: WallTime) {
        #expect(time + milliseconds == sum)
        #expect(time + .milliseconds(milliseconds) == sum)
    }

    @Test(
        arguments: [
            (5, 7, -2), (.min, 1, .min), (.max, -1, .max), (0, .min, .max), (-1, .min, .max), (.min, .min, 0),
        ] as [(WallTime, Int64, WallTime)])
    func `a difference beyond the range is the last time of the range`(
        time: WallTime, milliseconds: Int64, difference: WallTime
    ) {
        #expect(time - milliseconds == difference)
        #expect(time.milliseconds(since: WallTime(rawValue: milliseconds)) == difference.rawValue)
    }

    @Test func `a duration of any length is added`() {
        #expect(Uptime(rawValue: 7) + .seconds(Int64.max) == .max)
        #expect(Uptime(rawValue: -7) - .seconds(Int64.max) == .min)
    }

    @Test(
        arguments: [
            (0, 0), (1_767_225_600.0004, 1_767_225_600_000), (-0.0016, -2), (.infinity, 9_007_199_254_740_992),
            (-1e300, -9_007_199_254_740_992),
        ] as [(Double, WallTime)])
    func `the wall time of a date is in milliseconds, within limits`(seconds: Double, time: WallTime) {
        #expect(WallTime(Date(timeIntervalSince1970: seconds)) == time)
    }

    @Test(arguments: [WallTime.min, -1, 0, 1_767_225_600_123, .max])
    func `the date of a wall time has the time, within limits`(time: WallTime) {
        #expect(WallTime(time.date) == time.bounded)
    }

    @Test(arguments: [QueueTime.min, -1, 0, 1_152_921_504_606_846_976, .max])
    func `a time is the same after it was written to a file, within limits`(time: QueueTime) throws {
        let configuration = SQLiteConfiguration(applicationID: 1, migrations: ["CREATE TABLE note (at, other)"])
        let read = try SQLiteDatabase.inMemory(configuration: configuration) { (connection) throws(SQLiteError) in
            try connection.run("INSERT INTO note VALUES (\(time), \(nil as Uptime?))")
            return try connection.first("SELECT at, other FROM note") { row -> (QueueTime, Uptime?) in
                (row.time(0), row.optionalTime(1))
            }
        }
        #expect(read?.0 == time.bounded && read?.1 == nil)
    }

    @Test func `the times of a queue follow its own clock`() {
        let moment = ReplayMoment(time: 1_000_000, lead: 90_000)
        #expect(moment.time(ofWall: 1_090_000) == 1_000_000)
        #expect(moment.wall(of: 1_000_000) == 1_090_000)
        #expect(moment.wall(of: .max) == .max && moment.time(ofWall: .min) == .min)
    }
}
