public import Foundation

/// A named sort criterion of a collection.
public struct SortKey<Object: Model> {
    public let name: String
    let compare: (Object, Object) -> ComparisonResult
    /// The properties that the criterion reads; `nil` if it may read any.
    private let keyPaths: [AnyKeyPath]?

    /// Creates a criterion from a comparison.
    public init(_ name: String, comparing compare: @escaping (Object, Object) -> ComparisonResult) {
        self.name = name
        self.compare = compare
        keyPaths = nil
    }

    /// Creates a criterion from a Foundation comparator.
    public init(_ name: String, comparator: KeyPathComparator<Object>) {
        self.name = name
        compare = { comparator.compare($0, $1) }
        keyPaths = [comparator.keyPath]
    }

    private init(
        _ name: String, keyPath: AnyKeyPath, compare: @escaping (Object, Object) -> ComparisonResult
    ) {
        self.name = name
        self.compare = compare
        keyPaths = [keyPath]
    }

    /// Returns a criterion that compares a property. The name identifies it in an encoded collection.
    public static func by(
        _ keyPath: KeyPath<Object, some Comparable>, order: SortOrder = .forward, named name: String
    ) -> SortKey {
        let ascending: ComparisonResult = order == .forward ? .orderedAscending : .orderedDescending
        let descending: ComparisonResult = order == .forward ? .orderedDescending : .orderedAscending
        return SortKey(name, keyPath: keyPath) { first, second in
            let left = first[keyPath: keyPath]
            let right = second[keyPath: keyPath]
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

/// A type-erased sort criterion.
struct SortRule {
    /// Returns less than zero, zero or more than zero.
    let compare: (Model, Model) -> Int
    let keyPaths: [AnyKeyPath]?

    /// Returns whether the changes of an event may affect the order.
    func isAffected(by event: ModelEvent) -> Bool {
        guard let keyPaths else { return true }
        return event.changes.contains { keyPaths.contains($0.path[0].anyKeyPath) }
    }
}
