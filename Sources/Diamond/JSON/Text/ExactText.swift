/// A string that is compared byte by byte, as servers and SQLite do.
///
/// Swift compares strings by Unicode equivalence: `"é"` may be one scalar or two. As names and keys these differ.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (one: ExactText, other: ExactText) -> Bool { one.text.isExactly(other.text) }

    // Equal bytes have equal hashes. Equivalent strings with different bytes collide, but are rare.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
    /// Whether two strings have equal bytes.
    package func isExactly(_ other: String) -> Bool {
        utf8.count == other.utf8.count && withBytes { one in other.withBytes { one.isEqual(to: $0) } }
    }
}

extension Span<UInt8> {
    /// Whether the bytes are equal to as many others.
    fileprivate func isEqual(to other: Span<UInt8>) -> Bool {
        withUnsafeBytes { one in other.withUnsafeBytes { one.hasSameBytes(as: $0) } }
    }
}

extension String? {
    /// Whether both are `nil` or have equal bytes.
    package func isExactly(_ other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let one?, let other?): one.isExactly(other)
        default: false
        }
    }
}

extension Collection<String> {
    /// Whether both have the same strings in the same order, byte by byte.
    func isExactly(_ other: some Collection<String>) -> Bool { elementsEqual(other) { $0.isExactly($1) } }
}

extension [String: JSONValue] {
    /// Returns the value of the member whose name has equal bytes.
    package func value(named name: String) -> JSONValue? {
        // Not as an expression with `nil`, which would be a JSON value.
        guard let index = index(forKey: name), self[index].key.isExactly(name) else { return nil }
        return self[index].value
    }

    /// Sets the member with a name, in place of one whose name only looks the same. `nil` removes the member.
    package mutating func set(_ value: JSONValue?, named name: String) {
        if let index = index(forKey: name), !self[index].key.isExactly(name) {
            guard value != nil else { return }
            remove(at: index)
        }
        self[name] = value
    }

    /// Whether both have equal values under the same names, byte by byte.
    func isExactly(_ other: [String: JSONValue]) -> Bool {
        count == other.count
            && allSatisfy { name, value in
                other.index(forKey: name).map { other[$0].key.isExactly(name) && other[$0].value == value } ?? false
            }
    }
}
