/// A value that is large, and handed on more often than it is changed: one word, the same for its copies until one changes.
struct CopyOnWrite<Value: Sendable>: Sendable {
    // `@unchecked Sendable`: changed only where nobody else has it.
    private final class Box: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    init(_ value: Value) { box = Box(value) }

    var value: Value { box.value }

    mutating func change(_ change: (inout Value) -> Void) {
        if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
        change(&box.value)
    }
}
