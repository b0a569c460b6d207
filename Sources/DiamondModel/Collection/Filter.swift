public import Foundation

/// A condition for being on show.
public struct Filter<Object: Model> {
    let isPassed: (Object) -> Bool

    /// Creates a filter of a closure, which returns whether a model stays on show.
    public init(_ isPassed: @escaping (Object) -> Bool) { self.isPassed = isPassed }

    /// Creates a filter of a predicate. A model that the predicate cannot judge is not on show.
    public init(_ predicate: Predicate<Object>) {
        isPassed = { (try? predicate.evaluate($0)) ?? false }
    }
}
