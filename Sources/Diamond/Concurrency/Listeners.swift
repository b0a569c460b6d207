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
        var storage = storage.take() ?? CopyOnWrite(Storage())
        storage.value.lastNumber += 1
        storage.value.numbers.append(storage.value.lastNumber)
        storage.value.all.append(listener)
        self.storage = storage
        return storage.value.lastNumber
    }

    /// Removes a listener and returns it, so that the caller can release it outside the lock; `nil` if it was removed
    /// before.
    mutating func remove(_ number: Int) -> Listener? {
        guard let index = storage?.value.numbers.firstIndex(of: number) else { return nil }
        storage?.value.numbers.remove(at: index)
        return storage?.value.all.remove(at: index)
    }

    /// Removes all listeners and returns them, so that the caller can release them outside the lock.
    mutating func removeAll() -> [Listener] {
        let removed = all
        storage?.value.all = []
        storage?.value.numbers = []
        return removed
    }
}

extension Listeners {
    /// Sends an element to all streams.
    func yield<Element: Sendable>(_ element: Element) where Listener == AsyncStream<Element>.Continuation {
        for listener in all { listener.yield(element) }
    }
}
