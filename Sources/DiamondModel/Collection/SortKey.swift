public import Foundation

/// A named sort criterion of a collection.
public struct SortKey<Object: Model> {
    public let name: String
    let rule: SortRule

    @usableFromInline
    init(_ name: String, rule: SortRule) {
        self.name = name
        self.rule = rule
    }

    /// Creates a criterion from a comparison.
    public init(_ name: String, comparing compare: @escaping (Object, Object) -> ComparisonResult) {
        let rule = SortRule(reading: { unsafeDowncast($0, to: Object.self) }, sameValue: nil) {
            compare($0, $1) == .orderedAscending
        }
        self.init(name, rule: rule)
    }

    /// Creates a criterion from a Foundation comparator.
    public init(_ name: String, comparator: KeyPathComparator<Object>) {
        let sameValue: (Model) -> (Model) -> Bool = { model in
            let old = unsafeDowncast(model, to: Object.self)[keyPath: comparator.keyPath]
            return { ExactEquality.areEqual(old, unsafeDowncast($0, to: Object.self)[keyPath: comparator.keyPath]) }
        }
        let rule = SortRule(reading: { unsafeDowncast($0, to: Object.self) }, sameValue: sameValue) {
            comparator.compare($0, $1) == .orderedAscending
        }
        self.init(name, rule: rule)
    }

    /// Returns a criterion that compares a property. The name identifies it in an encoded collection.
    // Inlined, so that the compiler calls the getter of a literal key path, and not the runtime.
    @inlinable @inline(__always)
    public static func by<Value: Comparable>(
        _ keyPath: KeyPath<Object, Value>, order: SortOrder = .forward, named name: String
    ) -> SortKey {
        let read: (Model) -> Value = { unsafeDowncast($0, to: Object.self)[keyPath: keyPath] }
        let sameValue: (Model) -> (Model) -> Bool = { model in
            let value = read(model)
            return { read($0) == value }
        }
        if order == .forward { return SortKey(name, rule: SortRule(reading: read, sameValue: sameValue) { $0 < $1 }) }
        return SortKey(name, rule: SortRule(reading: read, sameValue: sameValue) { $0 > $1 })
    }
}

/// A type-erased sort criterion.
///
/// Reading a key is slower than comparing two. A search reads the key of the searched model once, and sorting reads
/// each key once.
@usableFromInline
struct SortRule {
    /// Returns whether a model sorts before another one.
    @usableFromInline let precedes: (Model, Model) -> Bool
    /// Returns the order of other models and the given one: negative for a model that sorts before it.
    @usableFromInline let comparison: (Model) -> (Model) -> Int
    /// Returns the indexes of models in their order and, if asked for, the ranges of two and more with equal keys.
    @usableFromInline let sort: (_ models: [Model], _ hasTies: Bool) -> (order: [Int], ties: [Range<Int>])
    /// Returns a function that tells whether a model's key has the same value as the given model's has now; `nil` if
    /// the key is not known.
    @usableFromInline let sameValue: ((Model) -> (Model) -> Bool)?

    /// Creates a rule that compares keys.
    @inlinable @inline(__always)
    init<Value>(
        reading read: @escaping (Model) -> Value, sameValue: ((Model) -> (Model) -> Bool)?,
        precedes: @escaping (Value, Value) -> Bool
    ) {
        self.precedes = { precedes(read($0), read($1)) }
        comparison = { model in
            let value = read(model)
            return { other in
                let key = read(other)
                return precedes(key, value) ? -1 : precedes(value, key) ? 1 : 0
            }
        }
        sort = { models, hasTies in
            let values = models.map(read)
            let order = values.indices.sorted { precedes(values[$0], values[$1]) }
            var ties: [Range<Int>] = []
            var start = 0
            while hasTies, start < order.count {
                var end = start + 1
                while end < order.count, !precedes(values[order[start]], values[order[end]]) { end += 1 }
                if end > start + 1 { ties.append(start..<end) }
                start = end
            }
            return (order, ties)
        }
        self.sameValue = sameValue
    }
}
