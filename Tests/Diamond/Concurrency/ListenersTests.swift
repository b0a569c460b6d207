import Testing

@testable import Diamond

@Suite("A list of listeners") struct ListenersTests {
    @Test func `listeners are notified until they are removed, one by one or all`() async {
        var listeners = Listeners<AsyncStream<Int>.Continuation>()
        let (first, second) = (AsyncStream<Int>.makeStream(), AsyncStream<Int>.makeStream())
        listeners.yield(0)
        let number = listeners.add(first.continuation)
        listeners.yield(1)
        let next = listeners.add(second.continuation)
        listeners.remove(number)?.finish()
        listeners.yield(2)
        #expect(next != number && !listeners.isEmpty)
        for listener in listeners.removeAll() { listener.finish() }
        #expect(listeners.isEmpty)
        #expect(await first.stream.reduce(into: []) { $0.append($1) } == [1])
        #expect(await second.stream.reduce(into: []) { $0.append($1) } == [2])
    }

    @Test func `listeners are in the order of their addition, under numbers that are never reused`() {
        var listeners = Listeners<String>()
        let numbers = ["a", "b", "c"].map { listeners.add($0) }
        let copy = listeners
        let removed = [listeners.remove(numbers[1]), listeners.remove(numbers[1])]
        #expect(removed == ["b", nil] && listeners.all == ["a", "c"] && copy.all == ["a", "b", "c"])
        #expect(listeners.removeAll() == ["a", "c"])
        let next = listeners.add("d")
        #expect(!numbers.contains(next) && listeners.remove(numbers[0]) == nil && listeners.all == ["d"])
    }

    @Test func `listeners need one machine word while there are none`() {
        #expect(MemoryLayout<Listeners<AsyncStream<Int>.Continuation>>.size == MemoryLayout<Int>.size)
    }
}
