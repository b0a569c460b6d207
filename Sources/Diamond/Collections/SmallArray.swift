/// An array that allocates no memory for its first element, for arrays that rarely have more.
struct SmallArray<Element>: RandomAccessCollection, ExpressibleByArrayLiteral {
    private var head: Element?
    private var rest: [Element] = []

    init(arrayLiteral elements: Element...) { self.init(elements) }

    init(_ elements: some Sequence<Element>) { for element in elements { append(element) } }

    var startIndex: Int { 0 }
    var endIndex: Int { head == nil ? 0 : 1 + rest.count }

    subscript(index: Int) -> Element {
        guard index == 0, let head else { return rest[index - 1] }
        return head
    }

    mutating func append(_ element: Element) {
        if head == nil { head = element } else { rest.append(element) }
    }

    mutating func removeAll(where isMeant: (Element) -> Bool) {
        rest.removeAll(where: isMeant)
        if let first = head, isMeant(first) { head = rest.isEmpty ? nil : rest.removeFirst() }
    }
}
