#if Valkey
import Diamond
import DiamondTestSupport
import Testing

@testable import DiamondValkey

@Suite("ValkeyWatch", .limit(minutes: 1)) struct ValkeyWatchTests {
    /// A watch that is connected, at a time of the server.
    private func connected(at time: Int64 = 1_000_000) -> ValkeyWatch {
        var watch = ValkeyWatch()
        watch.connect()
        watch.advance(to: time)
        return watch
    }

    @Test func `a changed key names the records that depend on it`() {
        var watch = connected()
        let position = watch.log.position
        let (first, second) = (watch.begin("a"), watch.begin("b"))
        watch.hold([1, 2], by: [first])
        watch.hold([3], by: [first, second])
        #expect(watch.log.changes(since: position).names?.isEmpty == true)
        watch.change(["b", "unknown"])
        #expect(watch.log.changes(since: position).names?.keys == [3])
        watch.change(["a"])
        #expect(watch.log.changes(since: position).names?.keys == [1, 2, 3])
        watch.change(["a"])
        #expect(watch.log.changes(since: watch.log.position).names?.isEmpty == true)
    }

    @Test(arguments: [false, true])
    func `a key that changed before its reply was used is a change, even if it is watched again`(isAgain: Bool) {
        var watch = connected()
        let first = watch.begin("a")
        watch.change(["a"])
        let second = isAgain ? watch.begin("a") : nil
        let position = watch.log.position
        watch.set(ValkeyStamp(newAt: 1), during: first)
        watch.hold([7], by: [first])
        #expect(watch.stamp("a") == nil)
        #expect(watch.log.changes(since: position).names?.keys == [7])
        guard let second else { return }
        watch.set(ValkeyStamp(newAt: 2), during: second)
        #expect(watch.stamp("a") == ValkeyStamp(newAt: 2))
    }

    @Test func `a stamp that was read before an own change is not remembered, and its records are read again`() {
        var watch = connected()
        let before = watch.begin("a")
        watch.hold([1], by: [before])
        watch.didChange("a", at: 2_000_000)
        let position = watch.log.position
        watch.set(ValkeyStamp(newAt: 1), during: before)
        #expect(watch.stamp("a") == nil)
        watch.hold([7], by: [before])
        #expect(watch.log.changes(since: position).names?.keys == [7])
        // Another process changes it, too.
        watch.change(["a"])
        #expect(watch.log.changes(since: position).names?.keys == [1, 7])
    }

    @Test func `a connection that was silent, but not lost, begins anew with the next answer`() {
        var watch = connected()
        watch.disconnect()
        let position = watch.log.position
        watch.advance(to: 3_000_000)
        #expect(watch.log.connectedAt != nil)
        #expect(watch.log.changes(since: position).names == nil)
        let known = watch.log.position
        watch.advance(to: 4_000_000)
        #expect(watch.log.changes(since: known).names?.isEmpty == true)
    }

    @Test func `a common name, a lost connection and an emptied server change everything`() {
        for event in 0..<4 {
            var watch = connected()
            watch.hold([1], by: [watch.begin("a", isCommon: true)])
            let position = watch.log.position
            switch event {
            case 0: watch.change(["a"])
            case 1: watch.change(nil)
            case 2: watch.disconnect()
            default: watch.connect()
            }
            #expect(watch.log.changes(since: position).names == nil)
            #expect(watch.log.changes(since: watch.log.position).names?.isEmpty == true)
        }
    }

    @Test func `changes beyond those that are kept are any`() {
        var watch = connected()
        let position = watch.log.position
        for number in 0..<Int64(2 * CacheChangeLog.mostChanges) {
            watch.hold([number], by: [watch.begin("a")])
            watch.change(["a"])
        }
        #expect(watch.log.changes(since: position).names == nil)
        let tenBefore = ChangePosition(rawValue: watch.log.position.rawValue - 10)
        #expect(watch.log.changes(since: tenBefore).names?.keys.count == 10)
    }

    @Test func `more keys than are watched are any change`() {
        var watch = connected()
        let position = watch.log.position
        for number in 0...ValkeyWatch.mostKeys { watch.begin("\(number)") }
        #expect(watch.log.changes(since: position).names == nil)
    }

    @Test func `positions grow when a server with a slower clock takes over`() {
        var watch = connected(at: 5_000_000)
        let before = watch.log.position
        watch.disconnect()
        watch.connect()
        watch.advance(to: 1_000_000)
        #expect(watch.log.position > before)
        let known = watch.log.position
        let later = ValkeyStamp(erasure: 2, invalidation: 1_000_100)
        let earlier = ValkeyStamp(erasure: 2, invalidation: 999_000)
        #expect(watch.isChanged(later, since: known))
        #expect(!watch.isChanged(earlier, since: known))
    }

    @Test func `neither a new name nor an own change is a change by another process`() {
        var watch = connected()
        watch.didChange("a", at: 2_000_000)
        #expect(!watch.isChanged(ValkeyStamp(erasure: 2, invalidation: 2_000_000), since: watch.log.position))
        #expect(!watch.isChanged(ValkeyStamp(newAt: 3_000_000), since: watch.log.position))
        #expect(watch.isChanged(ValkeyStamp(erasure: 3_000_000, invalidation: 2_000_000), since: watch.log.position))
    }
}
#endif
