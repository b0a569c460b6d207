import Testing

@testable import Diamond

@Suite struct `Observers by streams` {
    @Test func `are told until they are removed, or all are let go`() async {
        var observers = StreamObservers<Int>()
        let (first, second) = (AsyncStream<Int>.makeStream(), AsyncStream<Int>.makeStream())
        observers.yield(0)
        let number = observers.add(first.continuation)
        observers.yield(1)
        let next = observers.add(second.continuation)
        observers.remove(number)?.finish()
        observers.yield(2)
        #expect(next != number && !observers.isEmpty)
        for observer in observers.takeAll() { observer.finish() }
        #expect(observers.isEmpty)
        #expect(await first.stream.reduce(into: []) { $0.append($1) } == [1])
        #expect(await second.stream.reduce(into: []) { $0.append($1) } == [2])
    }
}
