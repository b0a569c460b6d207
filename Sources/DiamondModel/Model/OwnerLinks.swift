/// The links of a model to its owners. Most models have at most one link, which needs no further memory.
@usableFromInline
struct OwnerLinks {
    @usableFromInline var first: Unmanaged<OwnerLink>?
    private var others: [Unmanaged<OwnerLink>] = []

    @usableFromInline
    init() {}

    @inlinable var isEmpty: Bool { first == nil }

    mutating func append(_ link: Unmanaged<OwnerLink>) {
        if first == nil { first = link } else { others.append(link) }
    }

    /// Removes the link at an index. The last one takes its place.
    ///
    /// - Returns: The link that has moved to the index; `nil` if none has.
    mutating func remove(at index: Int) -> Unmanaged<OwnerLink>? {
        let last = others.popLast()
        if index == count { return nil }
        if index == 0 { first = last } else if let last { others[index - 1] = last }
        return last
    }
}

extension OwnerLinks: RandomAccessCollection {
    @usableFromInline var startIndex: Int { 0 }
    @usableFromInline var endIndex: Int { first == nil ? 0 : others.count + 1 }

    @usableFromInline
    subscript(index: Int) -> Unmanaged<OwnerLink> {
        if index == 0, let first { return first }
        return others[index - 1]
    }
}
