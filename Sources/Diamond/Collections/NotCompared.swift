/// A property that does not count for the equality and the hash of its owner.
@propertyWrapper
struct NotCompared<Value: Sendable>: Sendable {
    var wrappedValue: Value
}

extension NotCompared: Hashable {
    static func == (one: NotCompared, other: NotCompared) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
