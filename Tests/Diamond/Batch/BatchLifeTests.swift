import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The lifecycle of a batch") struct BatchLifeTests {
    @Test(arguments: [
        (count: 3, isFailingFast: true, failures: [false, true, true], stops: [false, true, false]),
        (3, true, [true, true, true], [true, false, false]),
        (3, true, [false, false, true], [false, false, false]),
        (3, false, [true, true, true], [false, false, false]),
    ]) func `a fail-fast batch stops its other items at the first failure`(
        count: Int,
        isFailingFast: Bool,
        failures: [Bool],
        stops: [Bool]
    ) {
        var life = BatchLife(count: count, isFailingFast: isFailingFast)
        #expect(failures.enumerated().map { life.end($0, isFailure: $1) } == stops)
        #expect(life.progress == BatchProgress(completed: 3, failed: failures.count { $0 }, count: 3))
    }

    @Test func `a batch makes one report at a time, each with the latest count`() {
        var life = BatchLife(count: 3, isFailingFast: false)
        _ = life.end(1, isFailure: false)
        #expect(life.nextReport() == BatchLife.Report(completed: 1, isEnd: false))
        _ = (life.end(0, isFailure: false), life.end(2, isFailure: false))
        #expect(life.nextReport() == nil)
        #expect(!life.isOver)
        life.endReport()
        #expect(life.nextReport() == BatchLife.Report(completed: 3, isEnd: true))
        life.endReport()
        #expect(life.nextReport() == nil)
        #expect(life.ended == [1, 0, 2])
    }

    @Test func `a batch without items reports its end`() {
        var life = BatchLife(count: 0, isFailingFast: false)
        #expect(life.nextReport() == BatchLife.Report(completed: 0, isEnd: true))
        life.endReport()
        #expect(life.nextReport() == nil)
    }

    @Test func `a batch counts its pauses, and makes one pause change at a time`() {
        var life = BatchLife(count: 1, isFailingFast: false)
        life.resume()
        #expect(life.nextPauseChange() == nil)
        life.pause()
        life.pause()
        #expect(life.nextPauseChange() == true)
        life.resume()
        life.resume()
        #expect(life.nextPauseChange() == nil)
        life.endPauseChange()
        #expect(life.nextPauseChange() == false)
        life.endPauseChange()
        #expect(life.nextPauseChange() == nil)
    }
}
