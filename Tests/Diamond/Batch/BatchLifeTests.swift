import DiamondTestSupport
import Testing

@testable import Diamond

@Suite struct `The life of a batch` {
    @Test(arguments: [
        (count: 3, isFailingFast: true, failures: [false, true, true], stops: [false, true, false]),
        (3, true, [true, true, true], [true, false, false]),
        (3, true, [false, false, true], [false, false, false]),
        (3, false, [true, true, true], [false, false, false]),
    ]) func `stops the others at the first failure, where there are others`(
        count: Int,
        isFailingFast: Bool,
        failures: [Bool],
        stops: [Bool]
    ) {
        var life = BatchLife(count: count, isFailingFast: isFailingFast)
        #expect(failures.enumerated().map { life.end($0, isFailure: $1) } == stops)
        #expect(life.progress == BatchProgress(completed: 3, failed: failures.count { $0 }, count: 3))
    }

    @Test func `is told by one at a time, the last news first`() {
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

    @Test func `tells an end where there is nothing`() {
        var life = BatchLife(count: 0, isFailingFast: false)
        #expect(life.nextReport() == BatchLife.Report(completed: 0, isEnd: true))
        life.endReport()
        #expect(life.nextReport() == nil)
    }

    @Test func `is held once however often it is paused, and by one at a time`() {
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
