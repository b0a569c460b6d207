import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A broadcast", .limit(minutes: 5)) struct BroadcastTests {
    @Test func `reaches all listeners, and none that was removed`() {
        let broadcast = Broadcast<Int>()
        let (first, second) = (Guarded<[Int]>([]), Guarded<[Int]>([]))
        broadcast.send(0)
        let number = broadcast.add { element in first.withLock { $0.append(element) } }
        _ = broadcast.add { element in second.withLock { $0.append(element) } }
        broadcast.send(1)
        broadcast.remove(number)
        broadcast.remove(number)
        broadcast.send(2)
        #expect(first.withLock { $0 } == [1] && second.withLock { $0 } == [1, 2])
    }

    @Test func `a broadcast's listener may remove itself, and broadcast again`() {
        let broadcast = Broadcast<Int>()
        let (number, heard) = (Guarded(0), Guarded<[Int]>([]))
        let own = broadcast.add { element in
            heard.withLock { $0.append(element) }
            broadcast.remove(number.withLock { $0 })
            broadcast.send(element + 1)
        }
        number.withLock { $0 = own }
        broadcast.send(1)
        #expect(heard.withLock { $0 } == [1])
    }

    @Test func `buffers the newest element for a slow stream`() async {
        let broadcast = Broadcast<Int>()
        var stream = broadcast.newest.makeAsyncIterator()
        for element in 0..<5 { broadcast.send(element) }
        #expect(await stream.next() == 4)
    }

    @Test func `delivers nothing to a stream whose task is canceled, and stores nothing for it`() async {
        weak var kept: Broadcast<Int>?
        do {
            let broadcast = Broadcast<Int>()
            kept = broadcast
            let (isThere, heard) = (Gate(), Guarded<[Int]>([]))
            let task = Task { [stream = broadcast.newest] in
                for await element in stream {
                    heard.withLock { $0.append(element) }
                    isThere.open()
                }
            }
            broadcast.send(1)
            await isThere.wait()
            task.cancel()
            await task.value
            broadcast.send(2)
            #expect(heard.withLock { $0 } == [1])
        }
        await untilTrue { kept == nil }
    }
}
