public import Diamond

/// An element of a JSON array that is no model of the collection, kept so that nothing is lost.
public struct Rejection: Hashable, Sendable {
    /// The index in the array.
    public let index: Int
    public let json: JSONValue
    public let error: ModelError
}
