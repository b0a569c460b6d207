#if Tools
import DiamondTestSupport
import Foundation
import Testing

@testable import cachectl

@Suite("Latencies") struct LatenciesTests {
    @Test(
        arguments: [
            ([7], [7, 7, 7, 7, 7, 7]), ([1, 3], [1, 2, 1, 3, 3, 3]), ([4, 2, 3, 1], [1, 2.5, 2, 4, 4, 4]),
            (Array(1...100).shuffled(), [1, 50.5, 50, 90, 99, 100]),
            (Array(1...1000).reversed(), [1, 500.5, 500, 900, 990, 1000]),
        ] as [([Int], [Double])])
    func `the percentiles are those of the nearest rank`(milliseconds: [Int], expected: [Double]) {
        let latencies = Latencies(milliseconds.map { .milliseconds($0) })
        #expect(latencies.figures.map(\.key) == ["min", "mean", "p50", "p90", "p99", "max"])
        #expect(latencies.figures.map { Quantity.milliseconds($0.value) } == expected)
    }

    @Test func `the histogram begins with the shortest latency and ends with the longest`() {
        let latencies = Latencies([.microseconds(1500), .milliseconds(2), .microseconds(4999), .milliseconds(15)])
        let groups = latencies.histogram
        let limits: [Duration?] = [2, 5, 10, 20].map { .milliseconds($0) }
        #expect(groups.map(\.limit) == limits && groups.map(\.count) == [1, 2, 0, 1])
        let long = Latencies([.microseconds(10), .seconds(500), .seconds(900)]).histogram
        #expect(long.count == 22 && long.first?.count == 1 && long.last?.count == 2 && long.last?.limit == nil)
        #expect(Latencies([]).histogram.isEmpty)
    }
}
#endif
