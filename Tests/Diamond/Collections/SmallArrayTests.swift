import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A small array") struct SmallArrayTests {
    @Test(arguments: 0...3)
    func `has its elements in the order in which they were added`(_ count: Int) {
        var array = SmallArray<Int>()
        for element in 0..<count { array.append(element) }
        #expect(Array(array) == Array(0..<count) && array.indices.map { array[$0] } == Array(0..<count))
        #expect(array.count == count && Array(SmallArray(0..<count)) == Array(0..<count))
    }

    @Test(arguments: 0..<8)
    func `removes elements in all places`(_ places: Int) {
        var array: SmallArray = [0, 1, 2]
        array.removeAll { places & 1 << $0 != 0 }
        #expect(Array(array) == [0, 1, 2].filter { places & 1 << $0 == 0 })
        array.append(3)
        #expect(array.last == 3)
    }
}
