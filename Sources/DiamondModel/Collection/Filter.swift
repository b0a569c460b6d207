public import Foundation

/// A condition that visible models of a collection meet.
public struct Filter<Object: Model> {
    let isPassed: (Object) -> Bool

    /// Creates a filter from a closure that returns whether a model is visible.
    public init(_ isPassed: @escaping (Object) -> Bool) { self.isPassed = isPassed }

    /// Creates a filter from a predicate. Models for which the predicate throws are not visible.
    public init(_ predicate: Predicate<Object>) {
        isPassed = { (try? predicate.evaluate($0)) ?? false }
    }
}
