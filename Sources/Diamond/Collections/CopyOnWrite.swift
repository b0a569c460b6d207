/// A copy-on-write box for a large value that is passed on more often than changed. It is one word, and copies share
/// the storage until one of them changes.
struct CopyOnWrite<Value: Sendable>: Sendable {
    /// The storage that copies share.
    ///
    /// `@unchecked Sendable`: the reference count guards `value`. It is changed only while the box is uniquely
    /// referenced, and only read otherwise.
    private final class Box: @unchecked Sendable {
        // Unchecked, because checks would cost time: a request reads about eighty values. A change has unique access to
        // the box: the compiler enforces that through `mutating`.
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    init(_ value: Value) { box = Box(value) }

    var value: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}

extension CopyOnWrite: Equatable where Value: Equatable {
    static func == (one: CopyOnWrite, other: CopyOnWrite) -> Bool {
        one.box === other.box || one.value == other.value
    }
}

extension CopyOnWrite: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
