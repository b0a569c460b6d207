public import Diamond

/// An element of a JSON array that could not be read as a model. It is kept, so that it can be written back.
public struct Rejection: Hashable, Sendable {
    /// The index in the array.
    public let index: Int
    public let json: JSONValue
    public let error: ModelError
}
