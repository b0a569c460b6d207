import Testing

@testable import Diamond

@Suite("The changes that a process has made itself") struct OwnChangesTests {
    @Test func `a change is of this process if it comes after the last number, up to the newest`() {
        let changes = OwnChanges()
        changes.add(after: 3, upTo: 5)
        changes.add(after: 8, upTo: 9)
        #expect((1...10).filter { changes.contain($0) } == [4, 5, 9])
    }

    @Test func `changes of an earlier file are forgotten when the numbers begin again`() {
        let changes = OwnChanges()
        changes.add(after: 8, upTo: 9)
        changes.add(after: 0, upTo: 1)
        #expect((1...10).filter { changes.contain($0) } == [1])
    }

    @Test(arguments: [Int64.min, .max - 1, .max]) func `the numbers of a damaged file have no overflow`(last: Int64) {
        let changes = OwnChanges()
        changes.add(after: last, upTo: .max)
        #expect(changes.contain(.max) == (last < .max))
        changes.add(after: last, upTo: .min)
        #expect(!changes.contain(.min))
    }
}
