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
        let position = watch.position
        for key in ["a", "b"] { watch.begin(key) }
        watch.hold([1, 2], by: ["a"])
        watch.hold([3], by: ["a", "b"])
        #expect(watch.changes(since: position).names?.isEmpty == true)
        watch.change(["b", "unknown"])
        #expect(watch.changes(since: position).names?.keys == [3])
        watch.change(["a"])
        #expect(watch.changes(since: position).names?.keys == [1, 2, 3])
        watch.change(["a"])
        #expect(watch.changes(since: watch.position).names?.isEmpty == true)
    }

    @Test func `a key that changed before its reply was used is a change`() {
        var watch = connected()
        watch.begin("a")
        watch.change(["a"])
        let position = watch.position
        watch.set(ValkeyStamp(newAt: 1), of: "a")
        watch.hold([7], by: ["a"])
        #expect(watch.stamp("a") == nil)
        #expect(watch.changes(since: position).names?.keys == [7])
    }

    @Test func `a common name, a lost connection and an emptied server change everything`() {
        for event in 0..<4 {
            var watch = connected()
            watch.begin("a", isCommon: true)
            watch.hold([1], by: ["a"])
            let position = watch.position
            switch event {
            case 0: watch.change(["a"])
            case 1: watch.change(nil)
            case 2: watch.disconnect()
            default: watch.connect()
            }
            #expect(watch.changes(since: position).names == nil)
            #expect(watch.changes(since: watch.position).names?.isEmpty == true)
        }
    }

    @Test func `changes beyond those that are kept are any`() {
        var watch = connected()
        let position = watch.position
        for number in 0..<Int64(2 * ValkeyWatch.mostChanges) {
            watch.begin("a")
            watch.hold([number], by: ["a"])
            watch.change(["a"])
        }
        #expect(watch.changes(since: position).names == nil)
        #expect(watch.changes(since: watch.position - 10).names?.keys.count == 10)
    }

    @Test func `more keys than are watched are any change`() {
        var watch = connected()
        let position = watch.position
        for number in 0...ValkeyWatch.mostKeys { watch.begin("\(number)") }
        #expect(watch.changes(since: position).names == nil)
    }

    @Test func `positions grow when a server with a slower clock takes over`() {
        var watch = connected(at: 5_000_000)
        let before = watch.position
        watch.disconnect()
        watch.connect()
        watch.advance(to: 1_000_000)
        #expect(watch.position > before)
        let known = watch.position
        let later = ValkeyStamp(erasure: 2, invalidation: 1_000_100)
        let earlier = ValkeyStamp(erasure: 2, invalidation: 999_000)
        #expect(watch.isChanged(later, since: known))
        #expect(!watch.isChanged(earlier, since: known))
    }

    @Test func `neither a new name nor an own change is a change by another process`() {
        var watch = connected()
        watch.didChange("a", at: 2_000_000)
        #expect(!watch.isChanged(ValkeyStamp(erasure: 2, invalidation: 2_000_000), since: watch.position))
        #expect(!watch.isChanged(ValkeyStamp(newAt: 3_000_000), since: watch.position))
        #expect(watch.isChanged(ValkeyStamp(erasure: 3_000_000, invalidation: 2_000_000), since: watch.position))
    }
}
#endif
