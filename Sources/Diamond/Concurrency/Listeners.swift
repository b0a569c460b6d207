/// Listeners under numbers, in the order in which they were added; one word as long as there has been none.
///
/// A value, part of its owner's state and under its owner's lock. Functions that listen are called once the lock is
/// free; continuations of streams may be told under it, because they never call out.
struct Listeners<Listener: Sendable>: Sendable {
    private struct Content {
        var all: [Listener] = []
        /// The number of each, in ascending order.
        var numbers: [Int] = []
        var lastNumber = 0
    }

    private var content: CopyOnWrite<Content>?

    var isEmpty: Bool { all.isEmpty }
    var all: [Listener] { content?.value.all ?? [] }

    /// - Returns: the number for ``remove(_:)``.
    mutating func add(_ listener: Listener) -> Int {
        var number = 0
        if content == nil { content = CopyOnWrite(Content()) }
        content?.change { content in
            content.lastNumber += 1
            content.numbers.append(content.lastNumber)
            content.all.append(listener)
            number = content.lastNumber
        }
        return number
    }

    /// - Returns: the listener, to be let go of where no lock is held; `nil` where it was removed before.
    mutating func remove(_ number: Int) -> Listener? {
        guard let index = content?.value.numbers.firstIndex(of: number) else { return nil }
        var removed: Listener?
        content?.change { content in
            content.numbers.remove(at: index)
            removed = content.all.remove(at: index)
        }
        return removed
    }

    /// - Returns: all of them, to be let go of where no lock is held.
    mutating func removeAll() -> [Listener] {
        let removed = all
        content?.change { content in
            content.all = []
            content.numbers = []
        }
        return removed
    }
}

extension Listeners {
    /// Sends an element to streams.
    func yield<Element: Sendable>(_ element: Element) where Listener == AsyncStream<Element>.Continuation {
        for listener in all { listener.yield(element) }
    }
}
