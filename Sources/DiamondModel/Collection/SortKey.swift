public import Foundation

/// A criterion of a collection's order, with a name.
public struct SortKey<Object: Model> {
    public let name: String
    let compare: (Object, Object) -> ComparisonResult
    /// The properties that the criterion reads; `nil` when it may read any.
    private let keyPaths: [AnyKeyPath]?

    /// Creates a criterion of a comparison.
    public init(_ name: String, comparing compare: @escaping (Object, Object) -> ComparisonResult) {
        self.name = name
        self.compare = compare
        keyPaths = nil
    }

    /// Creates a criterion of a comparator of Foundation's.
    public init(_ name: String, _ comparator: KeyPathComparator<Object>) {
        self.name = name
        compare = { comparator.compare($0, $1) }
        keyPaths = [comparator.keyPath]
    }

    private init(
        _ name: String, _ keyPath: AnyKeyPath, _ compare: @escaping (Object, Object) -> ComparisonResult
    ) {
        self.name = name
        self.compare = compare
        keyPaths = [keyPath]
    }

    /// Returns a criterion that compares a property. The name is what an archive knows the criterion by.
    public static func by(
        _ keyPath: KeyPath<Object, some Comparable>, _ order: SortOrder = .forward, named name: String
    ) -> SortKey {
        let (ascending, descending): (ComparisonResult, ComparisonResult) =
            order == .forward ? (.orderedAscending, .orderedDescending) : (.orderedDescending, .orderedAscending)
        return SortKey(name, keyPath) { left, right in
            let (left, right) = (left[keyPath: keyPath], right[keyPath: keyPath])
            return left == right ? .orderedSame : left < right ? ascending : descending
        }
    }

    var rule: SortRule {
        SortRule(
            compare: { [compare] in
                compare(unsafeDowncast($0, to: Object.self), unsafeDowncast($1, to: Object.self)).rawValue
            },
            keyPaths: keyPaths)
    }
}

/// A criterion of order without the class of its models.
struct SortRule {
    /// Returns less than zero, zero or more than zero.
    let compare: (Model, Model) -> Int
    let keyPaths: [AnyKeyPath]?

    /// Whether a change may have another order as its consequence.
    func isAffected(by change: PropertyChange) -> Bool {
        keyPaths.map { $0.contains(change.path[0].anyKeyPath) } ?? true
    }
}
