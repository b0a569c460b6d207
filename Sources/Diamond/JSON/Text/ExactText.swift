/// A text that is equal to another where their bytes are, as to a server and to SQLite.
///
/// To Swift, texts that look the same are equal whatever their bytes: `"é"` may be one scalar or two. As names and keys they
/// are two.
struct ExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (one: ExactText, other: ExactText) -> Bool { one.text.isExactly(other.text) }

    // Equal bytes have equal hashes, and those that only look the same are rare.
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
    /// Whether two texts are equal to the byte.
    func isExactly(_ other: String) -> Bool {
        utf8.count == other.utf8.count && withBytes { one in other.withBytes { one.isEqual(to: $0) } }
    }
}

extension Span<UInt8> {
    fileprivate func isEqual(to other: Span<UInt8>) -> Bool {
        withUnsafeBufferPointer { one in other.withUnsafeBufferPointer { one.elementsEqual($0) } }
    }
}

extension String? {
    /// Whether both are absent, or equal to the byte.
    func isExactly(_ other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let one?, let other?): one.isExactly(other)
        default: false
        }
    }
}

extension Collection<String> {
    /// Whether the same texts stand in the same order, to the byte.
    func isExactly(_ other: some Collection<String>) -> Bool { elementsEqual(other) { $0.isExactly($1) } }
}

extension Set<String> {
    /// Whether a text is in it, to the byte.
    func containsExactly(_ text: String) -> Bool { firstIndex(of: text).map { self[$0].isExactly(text) } ?? false }

    /// Whether the same texts are in both, to the byte.
    func isExactly(_ other: Set<String>) -> Bool { count == other.count && allSatisfy(other.containsExactly) }
}

extension [String: JSONValue] {
    /// Whether the same values stand under the same names, to the byte.
    func isExactly(_ other: [String: JSONValue]) -> Bool {
        count == other.count
            && allSatisfy { name, value in
                other.index(forKey: name).map { other[$0].key.isExactly(name) && other[$0].value == value } ?? false
            }
    }
}
