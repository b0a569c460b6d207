import DiamondTestSupport
import Testing

@testable import DiamondModel

@Suite("The insertion order") struct InsertionOrderTests {
    private let core = CollectionCore(of: Model.self, context: nil)

    @Test func `labels increase along the list, wherever entries are inserted`() {
        var random = SplitMix(state: Effort.seed)
        var order = InsertionOrder()
        var list: [Entry] = []
        for round in 0..<1500 {
            let entry = Entry(Model(), in: core)
            // Often at one place, where the labels run out.
            let index = round % 3 == 0 ? random.below(list.count + 1) : list.count / 2
            order.insert(entry, before: index < list.count ? list[index] : nil)
            list.insert(entry, at: index)
            if round % 7 == 0 { order.remove(list.remove(at: random.below(list.count))) }
        }
        #expect(order.elementsEqual(list) { $0 === $1 })
        #expect(zip(list, list.dropFirst()).allSatisfy { $0.label < $1.label })
    }

    @Test func `many entries may be inserted before the first`() {
        var order = InsertionOrder()
        var list: [Entry] = []
        for _ in 0..<2000 {
            let entry = Entry(Model(), in: core)
            order.insert(entry, before: list.last)
            list.append(entry)
        }
        #expect(zip(list, list.dropFirst()).allSatisfy { $0.label > $1.label })
    }
}
