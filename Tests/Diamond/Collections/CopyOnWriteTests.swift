import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Values behind one reference")
struct CopyOnWriteTests {
    @Test func `a change of a value leaves its copies unchanged`() {
        let first = CopyOnWrite([1])
        var second = first
        second.change { $0.append(2) }
        let third = second
        second.change { $0.append(3) }
        #expect(first.value == [1] && third.value == [1, 2] && second.value == [1, 2, 3])
    }

    @Test func `a change of a copied ConnectionError leaves the original unchanged`() {
        let first = ConnectionError(.timedOut, "late")
        var second = first
        (second.code, second.message, second.jobID) = (.queued, "kept", 7)
        second.response = Response(status: .ok)
        second.attempts = [Attempt(number: 1, startedAt: Date(milliseconds: 0), outcome: .answered(.ok))]
        second.cause = TransportError(.timedOut, "late")
        #expect(first.code == .timedOut && first.message == "late" && first.jobID == nil && first.cause == nil)
        #expect(first.response == nil && first.attempts.isEmpty)
        #expect(second.code == .queued && second.message == "kept" && second.jobID == 7)
        #expect(second.response?.status == .ok)
    }

    @Test func `a change of a copied TransportError leaves the original unchanged`() {
        let first = TransportError(.timedOut, "late")
        var second = first
        second.requestMayHaveBeenSent = true
        #expect(first.code == .timedOut && first.message == "late" && !first.requestMayHaveBeenSent)
        #expect(second.code == .timedOut && second.message == "late" && second.requestMayHaveBeenSent)
    }
}
