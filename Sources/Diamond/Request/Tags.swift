/// A set of tags, which are compared byte by byte. A `Set<String>` would take two texts that only look the same for one.
public struct Tags: Hashable, Sendable {
    private var texts: Set<ExactText> = []

    /// Creates an empty set.
    public init() {}

    /// Creates a set of the tags in a sequence.
    public init(_ tags: some Sequence<String>) { texts = Set(tags.lazy.map(ExactText.init)) }

    public var isEmpty: Bool { texts.isEmpty }
    public var count: Int { texts.count }

    public func contains(_ tag: String) -> Bool { texts.contains(ExactText(tag)) }

    /// Adds a tag, and returns whether it is new.
    @discardableResult
    public mutating func insert(_ tag: String) -> Bool { texts.insert(ExactText(tag)).inserted }

    /// Removes a tag, and returns whether it was there.
    @discardableResult
    public mutating func remove(_ tag: String) -> Bool { texts.remove(ExactText(tag)) != nil }

    public mutating func formUnion(_ tags: some Sequence<String>) { texts.formUnion(tags.lazy.map(ExactText.init)) }

    public func union(_ tags: some Sequence<String>) -> Tags {
        var union = self
        union.formUnion(tags)
        return union
    }

    /// Returns the tags in the order of their bytes.
    public func sorted() -> [String] { map(\.self).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}

extension Tags: Sequence {
    public func makeIterator() -> IndexingIterator<[String]> { texts.map(\.text).makeIterator() }
}

extension Tags: ExpressibleByArrayLiteral {
    public init(arrayLiteral tags: String...) { self.init(tags) }
}
