/// The edits that a table allows in the rows of a collection.
///
/// They change the collection and the models, and nothing else.
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

    public init(
        canRemove: @escaping (Object) -> Bool = { _ in true }, canMove: @escaping (Object) -> Bool = { _ in true },
        changeSection: ((Object, _ key: String) -> Bool)? = nil, makeModel: ((_ key: String) -> Object?)? = nil
    ) {
        self.canRemove = canRemove
        self.canMove = canMove
        self.changeSection = changeSection
        self.makeModel = makeModel
    }
}

@available(*, unavailable)
extension RowEditing: Sendable {}
