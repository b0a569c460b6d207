/// Those who watch what becomes of something, each by a stream; one word as long as there has been none.
///
/// Under the lock of whoever has it: yielding never calls out.
struct StreamObservers<Element: Sendable>: Sendable {
    typealias Observer = AsyncStream<Element>.Continuation

    private struct Content {
        var observers: [Int: Observer] = [:]
        var count = 0
    }

    private var content: CopyOnWrite<Content>?

    var isEmpty: Bool { content?.value.observers.isEmpty ?? true }

    /// - Returns: its number, for ``remove(_:)``.
    mutating func add(_ observer: Observer) -> Int {
        if content == nil { content = CopyOnWrite(Content()) }
        content?.change { content in
            content.count += 1
            content.observers[content.count] = observer
        }
        return content?.value.count ?? 0
    }

    /// - Returns: what is to be let go of where no lock is held.
    mutating func remove(_ number: Int) -> Observer? {
        var removed: Observer?
        content?.change { removed = $0.observers.removeValue(forKey: number) }
        return removed
    }

    func yield(_ element: Element) {
        guard let content else { return }
        for observer in content.value.observers.values { observer.yield(element) }
    }

    /// - Returns: those to be finished where no lock is held: nothing more will be told.
    mutating func takeAll() -> [Observer] {
        defer { content = nil }
        return content.map { Array($0.value.observers.values) } ?? []
    }
}
