import DiamondSQLite
import Foundation
import Testing

@testable import Diamond

@Suite("The observer of the app's return to the foreground") struct ForegroundWatchTests {
    @Test func `an observer is notified until it is stopped`() {
        let (name, count) = (Notification.Name("A test of Diamond"), Guarded(0))
        let watch = ForegroundWatch(for: name) { count.withLock { $0 += 1 } }
        for _ in 0..<2 { NotificationCenter.default.post(name: name, object: nil) }
        #expect(count.withLock { $0 } == 2)
        watch.stop()
        NotificationCenter.default.post(name: name, object: nil)
        #expect(count.withLock { $0 } == 2)
    }

    @Test func `a platform without a notification needs no observer`() {
        ForegroundWatch(for: nil) {}.stop()
    }
}
