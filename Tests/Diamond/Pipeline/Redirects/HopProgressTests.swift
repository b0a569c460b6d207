import HTTPTypes
import Testing

@testable import Diamond

@Suite("The progress of a hop") struct HopProgressTests {
    private static let late = ConnectionError(.timedOut, "late")

    private func next(
        _ progress: inout HopProgress,
        _ ending: ExchangeOutcome.Ending,
        lateness: Int64 = 0,
        isTimed: Bool = true,
        hasDeadline: Bool = true
    ) -> Bool {
        let outcome = ExchangeOutcome(ending, startedAt: 1000, lateness: lateness)
        if case .lookUpAgain = progress.next(after: outcome, now: 5000, isTimed: isTimed, hasDeadline: hasDeadline) {
            return true
        }
        return false
    }

    @Test func `a hop ends with a response and with a failure`() {
        var progress = HopProgress(timeStart: nil)
        #expect(!next(&progress, .response(Response(status: .ok))))
        #expect(!next(&progress, .failure(.cancelled)))
        #expect(!progress.hasMissed && !progress.isAlone && !progress.ignoresStored)
    }

    @Test(arguments: [(99, true, false), (100, true, true), (100, false, false)] as [(Int64, Bool, Bool)])
    func `a hop is sent again if only the time of earlier callers is up`(lateness: Int64, isTimed: Bool, goesOn: Bool) {
        var progress = HopProgress(timeStart: nil)
        #expect(next(&progress, .failure(Self.late), lateness: lateness, isTimed: isTimed) == goesOn)
        #expect(progress.deadlineExtension?.deadline == (goesOn ? EngineTime(rawValue: 5000 + lateness) : nil))
        #expect(progress.timeStart(after: 1) == EngineTime(rawValue: goesOn ? 1000 + lateness : 1))
        // A hop is sent again only once.
        if goesOn { #expect(!next(&progress, .failure(Self.late), lateness: 2000)) }
    }

    @Test func `a hop sends its own request after a response that belongs to another caller`() {
        var progress = HopProgress(timeStart: nil)
        #expect(next(&progress, .dismissed))
        #expect(progress.isAlone && progress.hasMissed)
    }

    @Test(arguments: [false, true]) func `a hop looks once for an entry that was stored meanwhile`(isCounted: Bool) {
        var progress = HopProgress(timeStart: nil)
        progress.noteUnreadable(CacheError(.corrupt, "torn"))
        #expect(progress.ignoresStored && progress.maySupersede)
        #expect(next(&progress, .superseded(isCounted: isCounted)))
        #expect(!progress.ignoresStored && !progress.maySupersede && progress.hasMissed == isCounted)
    }

    @Test(arguments: [false, true]) func `a hop ignores an unreadable entry, and keeps its time limit`(
        hasDeadline: Bool
    ) {
        var progress = HopProgress(timeStart: nil)
        #expect(next(&progress, .unreadable(CacheError(.corrupt, "torn")), hasDeadline: hasDeadline))
        #expect(progress.ignoresStored && progress.hasMissed && progress.timeStart == (hasDeadline ? 1000 : nil))
        var gone = HopProgress(timeStart: 7)
        #expect(next(&gone, .unreadable(CacheError(.entryGone, "gone"))))
        #expect(!gone.ignoresStored && gone.timeStart == 7)
    }
}
