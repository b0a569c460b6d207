/// A value that is large, and handed on more often than it is changed: one word, the same for its copies until one changes.
struct CopyOnWrite<Value: Sendable>: Sendable {
    /// The storage that copies share.
    ///
    /// `@unchecked Sendable`: `value` is guarded by the count of references; it is changed only while one copy alone has the
    /// box, and read only otherwise.
    private final class Box: @unchecked Sendable {
        // Unchecked: what changes has the box to itself, and the compiler sees to it that it does so alone; what reads, reads
        // some eighty times for one request.
        @exclusivity(unchecked) var value: Value

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
