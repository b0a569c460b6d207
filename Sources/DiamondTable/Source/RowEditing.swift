public import DiamondModel

/// The edits that a table allows in the rows of a collection.
///
/// Edits change the collection and the models. To change a server, too, pass `onRemove` and `onMove`.
public struct RowEditing<Object: Model> {
    let canRemove: (Object) -> Bool
    let canMove: (Object) -> Bool
    let changeSection: ((Object, _ key: String) -> Bool)?
    let makeModel: ((_ key: String) -> Object?)?
    let onRemove: (ModelCollection<Object>, Object) -> Void
    let onMove: (ModelCollection<Object>, Object) -> Void

    /// Creates the rules for edits.
    ///
    /// - Parameters:
    ///   - canRemove: Returns whether a row can be removed. Always `true` by default.
    ///   - canMove: Returns whether a row can be moved. Always `true` by default.
    ///   - changeSection: Changes a model so that it belongs to the section with a key, and returns whether it may move
    ///     there. `nil` by default: rows stay in their sections.
    ///   - makeModel: Creates the model of a row that the user inserts into the section with a key. `nil`, the default,
    ///     allows none.
    ///   - onRemove: Removes a model. By default removes it from the collection only. Use `ModelCollection.delete(_:)`
    ///     to delete it from the server with the next upload, too.
    ///   - onMove: Called with a model that was moved, for example to store the user's order in a property.
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
