/// A queue that elements leave in the order in which they came, or from the middle.
///
/// Each change costs the same on average, however long the queue is. No element is in it twice.
struct FIFOSet<Element: Hashable> {
    private var elements: [Element] = []
    private var start = 0
    /// The elements behind the first that were removed, and are still in the array.
    private var removed: Set<Element> = []

    var isEmpty: Bool { count == 0 }
    var count: Int { elements.count - start - removed.count }
    var first: Element? { start < elements.count ? elements[start] : nil }

    /// - Parameter element: one that is not in the queue.
    mutating func append(_ element: Element) {
        // Where it was removed before, it would be taken for the removed one.
        if removed.contains(element) { compact() }
        elements.append(element)
    }

    /// - Parameter element: one that is in the queue.
    mutating func remove(_ element: Element) {
        if element == first { start += 1 } else { removed.insert(element) }
        while !removed.isEmpty, let first, removed.remove(first) != nil { start += 1 }
        let unused = start + removed.count
        if unused > 32, unused * 2 > elements.count { compact() }
    }

    private mutating func compact() {
        elements.removeFirst(start)
        if !removed.isEmpty { elements.removeAll(where: removed.contains) }
        start = 0
        removed = []
    }
}
