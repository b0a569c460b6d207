/// Numbered listeners, in the order in which they were added. It is one word until the first is added.
///
/// It is part of its owner's state and guarded by the owner's lock. Release the lock before you call listeners that are
/// functions. Listeners that are continuations of streams may be called under the lock, because they run no other code.
struct Listeners<Listener: Sendable>: Sendable {
    private struct Storage {
        var all: [Listener] = []
        /// The number of each, in ascending order.
        var numbers: [Int] = []
        var lastNumber = 0
    }

    private var storage: CopyOnWrite<Storage>?

    var isEmpty: Bool { all.isEmpty }
    var all: [Listener] { storage?.value.all ?? [] }

    /// Adds a listener.
    ///
    /// - Returns: The number for ``remove(_:)``.
    mutating func add(_ listener: Listener) -> Int {
        var number = 0
        if storage == nil { storage = CopyOnWrite(Storage()) }
        storage?.change { storage in
            storage.lastNumber += 1
            storage.numbers.append(storage.lastNumber)
            storage.all.append(listener)
            number = storage.lastNumber
        }
        return number
    }

    /// Removes a listener and returns it, so that the caller can release it outside the lock; `nil` if it was removed
    /// before.
    mutating func remove(_ number: Int) -> Listener? {
        guard let index = storage?.value.numbers.firstIndex(of: number) else { return nil }
        var removed: Listener?
        storage?.change { storage in
            storage.numbers.remove(at: index)
            removed = storage.all.remove(at: index)
        }
        return removed
    }

    /// Removes all listeners and returns them, so that the caller can release them outside the lock.
    mutating func removeAll() -> [Listener] {
        let removed = all
        storage?.change { storage in
            storage.all = []
            storage.numbers = []
        }
        return removed
    }
}

extension Listeners {
    /// Sends an element to all streams.
    func yield<Element: Sendable>(_ element: Element) where Listener == AsyncStream<Element>.Continuation {
        for listener in all { listener.yield(element) }
    }
}
