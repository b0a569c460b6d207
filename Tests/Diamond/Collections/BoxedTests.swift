import Testing

@testable import Diamond

@Suite struct `A boxed value` {
    @Test func `takes one word, and is there or not`() {
        #expect(MemoryLayout<Boxed<[Int]>>.size == MemoryLayout<Int>.size)
        #expect(Boxed([1]).value == [1] && Boxed<[Int]>(nil).value == nil)
        #expect(Boxed([1]) == Boxed([1]) && Boxed([1]) != .none)
    }
}
