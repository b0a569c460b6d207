import Testing

@testable import Diamond

@Suite("A boxed value") struct IndirectOptionalTests {
    @Test func `needs one machine word, and may be nil`() {
        #expect(MemoryLayout<IndirectOptional<[Int]>>.size == MemoryLayout<Int>.size)
        #expect(IndirectOptional([1]).value == [1] && IndirectOptional<[Int]>(nil).value == nil)
        #expect(IndirectOptional([1]) == IndirectOptional([1]) && IndirectOptional([1]) != .none)
    }
}
