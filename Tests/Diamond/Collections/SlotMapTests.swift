import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A slot map") struct SlotMapTests {
    @Test func `finds a value by its number until it is removed, and none afterwards`() {
        var map = SlotMap<String>()
        let (first, second) = (map.add("a"), map.add("b"))
        let removed = [map.remove(first), map.remove(first)]
        #expect(removed == ["a", nil])
        map[first] = "x"
        #expect(map[first] == nil && Array(map.elements) == ["b"])
        let third = map.add("c")
        #expect(map[first] == nil && map[second] == "b" && map[third] == "c")
        map[first] = "x"
        map[second] = "y"
        #expect(map[first] == nil && map[second] == "y" && map[third] == "c")
        #expect(map.elements.sorted() == ["c", "y"] && map.count == 2)
    }

    @Test func `distinguishes a new value from an earlier one of the same slot`() {
        var map = SlotMap<Int>()
        let first = map.add(1)
        _ = map.remove(first)
        #expect(map.isEmpty)
        let second = map.add(2)
        #expect(map[first] == nil && map[second] == 2)
    }

    @Test func `behaves like a dictionary`() {
        var random = SplitMix(state: Effort.seed)
        var (map, known): (SlotMap<Int>, [SlotNumber: Int]) = (SlotMap(), [:])
        var gone: [SlotNumber] = []
        for round in 0..<Effort.rounds(20_000, soaking: 2_000_000) {
            let number = known.keys.randomElement(using: &random)
            switch (Int.random(in: 0..<5, using: &random), number) {
            case (0, let number?), (1, let number?):
                let removed = map.remove(number)
                #expect(removed == known.removeValue(forKey: number), "DIAMOND_SEED=\(Effort.seed)")
                gone.append(number)
            case (2, let number?): (map[number], known[number]) = (round, round)
            default: known[map.add(round)] = round
            }
            if let old = gone.randomElement(using: &random) { map[old] = round }
            #expect(map.count == known.count)
            if let number, let old = gone.randomElement(using: &random) {
                #expect(map[number] == known[number] && map[old] == nil, "DIAMOND_SEED=\(Effort.seed)")
            }
        }
        #expect(map.elements.sorted() == known.values.sorted())
    }
}
