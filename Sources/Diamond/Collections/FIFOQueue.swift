/// A first-in, first-out queue. Appending and removing take amortized constant time.
package struct FIFOQueue<Element> {
    private var elements: [Element?] = []
    private var start = 0

    package init() {}

    package var count: Int { elements.count - start }
    package var isEmpty: Bool { start == elements.count }
    /// The element that is removed next.
    package var first: Element? { isEmpty ? nil : elements[start] }

    package mutating func append(_ element: Element) { elements.append(element) }

    package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let first = elements[start].take()
        start += 1
        if start >= 32, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return first
    }
}
