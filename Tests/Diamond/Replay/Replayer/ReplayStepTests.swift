import Testing

@testable import Diamond

@Suite("The step of a replayer after a claim") struct ReplayStepTests {
    @Test(arguments: [
        (2, false, false, true, ReplayStep.claim), (2, true, false, true, .wait(atMost: .seconds(15))),
        (2, true, false, false, .wait(atMost: .seconds(1))), (0, false, false, true, .wait(atMost: .seconds(15))),
        (0, false, false, false, .wait(atMost: .seconds(1))), (0, true, false, true, .wait(atMost: .seconds(15))),
        (0, false, true, true, .end), (0, false, true, false, .end),
    ])
    func `the step depends on what was claimed`(
        count: Int, isFull: Bool, isLast: Bool, isReported: Bool, step: ReplayStep
    ) {
        #expect(.after(claiming: count, isFull: isFull, isLast: isLast, isReported: isReported) == step)
    }

    @Test(arguments: [
        (ReplayError.Code.busy, true, true), (.diskFull, true, true), (.busy, false, false), (.corrupt, true, false),
        (.corrupt, false, false),
    ])
    func `a failed claim is repeated if the failure may pass and the run can wait`(
        code: ReplayError.Code, canWait: Bool, isRepeated: Bool
    ) {
        let error = ReplayError(code, "failed")
        #expect(.after(error, canWait: canWait) == (isRepeated ? ReplayStep.pause : .fail(error)))
    }
}
