/// A set of tags, which are compared byte by byte. A `Set<String>` would take two texts that only look the same for
/// one.
public struct Tags: Hashable, Sendable {
    private var texts: Set<ExactText>

    /// Creates a set of the tags in a sequence.
    public init(_ tags: some Sequence<String>) { texts = Set(tags.lazy.map(ExactText.init)) }

    public var count: Int { texts.count }

    public var isEmpty: Bool { texts.isEmpty }

    public func contains(_ tag: String) -> Bool { texts.contains(ExactText(tag)) }

    /// Adds a tag.
    @discardableResult
    public mutating func insert(_ tag: String) -> (inserted: Bool, memberAfterInsert: String) {
        let (inserted, text) = texts.insert(ExactText(tag))
        return (inserted, text.text)
    }

    /// Removes a tag, and returns it if it was there.
    @discardableResult
    public mutating func remove(_ tag: String) -> String? { texts.remove(ExactText(tag))?.text }

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

extension Tags: CustomStringConvertible {
    /// The tags in the order of their bytes, as an array is printed.
    public var description: String { sorted().description }
}

extension Tags: Codable {
    public init(from decoder: any Decoder) throws { self.init(try [String](from: decoder)) }

    /// Encodes the tags as an array, in the order of their bytes.
    public func encode(to encoder: any Encoder) throws { try sorted().encode(to: encoder) }
}
