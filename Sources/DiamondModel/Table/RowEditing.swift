/// The edits that a table allows in the rows of a collection.
///
/// They change the collection and the models. What becomes of that on a server, ``onRemove`` and ``onMove`` say.
public struct RowEditing<Object: Model> {
    /// Returns whether a row may be removed. All by default.
    public var canRemove: (Object) -> Bool
    /// Returns whether a row may be moved. All by default.
    public var canMove: (Object) -> Bool
    /// Changes a model so that it belongs to the section with a key, and returns whether it may go there. `nil`, the
    /// default, keeps rows in their sections.
    public var changeSection: ((Object, _ key: String) -> Bool)?
    /// Makes the model of a row that is inserted into the section with a key; `nil` to insert none, which is the default.
    public var makeModel: ((_ key: String) -> Object?)?

    /// Removes a model from a collection. By default it leaves that collection and no other;
    /// ``ModelCollection/delete(_:)`` takes it from the server with the next upload.
    public var onRemove: (ModelCollection<Object>, Object) -> Void
    /// Is called with a model that was moved, to keep an order of the user's in a property.
    public var onMove: (ModelCollection<Object>, Object) -> Void

    public init(
        canRemove: @escaping (Object) -> Bool = { _ in true }, canMove: @escaping (Object) -> Bool = { _ in true },
        changeSection: ((Object, _ key: String) -> Bool)? = nil, makeModel: ((_ key: String) -> Object?)? = nil,
        onRemove: @escaping (ModelCollection<Object>, Object) -> Void = { $0.remove($1) },
        onMove: @escaping (ModelCollection<Object>, Object) -> Void = { _, _ in }
    ) {
        self.onRemove = onRemove
        self.onMove = onMove
        self.canRemove = canRemove
        self.canMove = canMove
        self.changeSection = changeSection
        self.makeModel = makeModel
    }
}

@available(*, unavailable)
extension RowEditing: Sendable {}
