import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("An observer of commits", .limit(minutes: 5)) struct ReplayCommitTests {
    @Test func `a commit takes as long to report after many others as at first`() {
        let (observer, count) = (ReplayCommitObserver(), Guarded(0))
        observer.set { _ in count.withLock { $0 += 1 } }
        // If each report added a step to the next ones, the steps would be ten thousand million.
        for _ in 0..<100_000 { observer.report(ReplayCommit()) }
        #expect(count.withLock(\.self) == 100_000)
    }
}
