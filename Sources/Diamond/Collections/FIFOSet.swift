/// A first-in, first-out queue from which any element can be removed.
///
/// Each change takes amortized constant time. Elements are unique.
struct FIFOSet<Element: Hashable> {
    private var elements: [Element] = []
    private var start = 0
    /// The removed elements that are still in the array, all after the first.
    private var removed: Set<Element> = []

    var isEmpty: Bool { count == 0 }
    var count: Int { elements.count - start - removed.count }
    var first: Element? { start < elements.count ? elements[start] : nil }

    /// Appends an element.
    ///
    /// - Parameter element: an element that is not in the queue.
    mutating func append(_ element: Element) {
        // Without this, an element that was removed before would count as removed.
        if removed.contains(element) { compact() }
        elements.append(element)
    }

    /// Removes an element.
    ///
    /// - Parameter element: an element that is in the queue.
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
