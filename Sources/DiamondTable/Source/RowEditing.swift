public import DiamondModel

/// The edits that a table allows in the rows of a collection.
///
/// Edits change the collection and the models. To change a server, too, set ``onRemove`` and ``onMove``.
public struct RowEditing<Object: Model> {
    /// Returns whether a row can be removed. Always `true` by default.
    public var canRemove: (Object) -> Bool
    /// Returns whether a row can be moved. Always `true` by default.
    public var canMove: (Object) -> Bool
    /// Changes a model so that it belongs to the section with a key, and returns whether it may move there. `nil` by
    /// default: rows stay in their sections.
    public var changeSection: ((Object, _ key: String) -> Bool)?
    /// Creates the model of a row that the user inserts into the section with a key. `nil`, the default, allows none.
    public var makeModel: ((_ key: String) -> Object?)?

    /// Removes a model. By default removes it from the collection only. Use `ModelCollection.delete(_:)` to delete it
    /// from the server with the next upload, too.
    public var onRemove: (ModelCollection<Object>, Object) -> Void
    /// Called with a model that was moved, for example to store the user's order in a property.
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
