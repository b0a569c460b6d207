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
        self.init(
            name,
            rule: SortRule {
                compare(unsafeDowncast($0, to: Object.self), unsafeDowncast($1, to: Object.self)).rawValue
            })
    }

    /// Creates a criterion from a Foundation comparator.
    public init(_ name: String, comparator: KeyPathComparator<Object>) {
        var rule = SortRule {
            comparator.compare(unsafeDowncast($0, to: Object.self), unsafeDowncast($1, to: Object.self)).rawValue
        }
        rule.sameValue = { model in
            let old = unsafeDowncast(model, to: Object.self)[keyPath: comparator.keyPath]
            return { ExactEquality.areEqual(old, unsafeDowncast($0, to: Object.self)[keyPath: comparator.keyPath]) }
        }
        self.init(name, rule: rule)
    }

    /// Returns a criterion that compares a property. The name identifies it in an encoded collection.
    @inlinable
    public static func by<Value: Comparable>(
        _ keyPath: KeyPath<Object, Value>, order: SortOrder = .forward, named name: String
    ) -> SortKey {
        let less = order == .forward ? -1 : 1
        return SortKey(
            name,
            rule: SortRule(
                reading: { unsafeDowncast($0, to: Object.self)[keyPath: keyPath] },
                comparing: { left, right in left == right ? 0 : left < right ? less : -less }))
    }
}

/// A type-erased sort criterion.
///
/// Reading a key is slower than comparing two. A search reads the key of the searched model once, and sorting reads
/// each key once.
@usableFromInline
struct SortRule {
    /// Returns the comparison of models with the given one.
    let comparison: (Model) -> (Model) -> Int
    /// Returns the comparison of models by their indexes in the given list.
    let comparisonInList: ([Model]) -> (Int, Int) -> Int
    /// Returns a function that tells whether a model's key has the same value as the given model's has now; `nil` if
    /// the key is not known.
    var sameValue: ((Model) -> (Model) -> Bool)?

    /// Creates a rule that compares models.
    init(_ compare: @escaping (Model, Model) -> Int) {
        comparison = { model in { compare($0, model) } }
        comparisonInList = { models in { compare(models[$0], models[$1]) } }
    }

    /// Creates a rule that compares keys.
    @inlinable
    init<Value: Equatable>(reading read: @escaping (Model) -> Value, comparing compare: @escaping (Value, Value) -> Int)
    {
        self.init(
            comparison: { model in
                let value = read(model)
                return { compare(read($0), value) }
            },
            comparisonInList: { models in
                let values = models.map(read)
                return { compare(values[$0], values[$1]) }
            },
            sameValue: { model in
                let value = read(model)
                return { read($0) == value }
            })
    }

    @usableFromInline
    init(
        comparison: @escaping (Model) -> (Model) -> Int,
        comparisonInList: @escaping ([Model]) -> (Int, Int) -> Int,
        sameValue: ((Model) -> (Model) -> Bool)?
    ) {
        self.comparison = comparison
        self.comparisonInList = comparisonInList
        self.sameValue = sameValue
    }
}
