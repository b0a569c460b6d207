import Testing

@testable import Diamond

@Suite("The changes that a process has made itself") struct OwnChangesTests {
    @Test func `a change is of this process if it comes after the last number, up to the newest`() {
        let changes = OwnChanges()
        changes.add(3, 5)
        changes.add(8, 9)
        #expect((1...10).filter { changes.contain($0) } == [4, 5, 9])
    }

    @Test func `changes of an earlier file are forgotten when the numbers begin again`() {
        let changes = OwnChanges()
        changes.add(8, 9)
        changes.add(0, 1)
        #expect((1...10).filter { changes.contain($0) } == [1])
    }

    @Test(arguments: [Int64.min, .max - 1, .max]) func `the numbers of a damaged file have no overflow`(last: Int64) {
        let changes = OwnChanges()
        changes.add(last, .max)
        #expect(changes.contain(.max) == (last < .max))
        changes.add(last, .min)
        #expect(!changes.contain(.min))
    }
}

extension OwnChanges {
    fileprivate func add(_ last: Int64, _ newest: Int64) {
        add(after: ChangePosition(rawValue: last), upTo: ChangePosition(rawValue: newest))
    }

    fileprivate func contain(_ number: Int64) -> Bool { contain(ChangePosition(rawValue: number)) }
}
