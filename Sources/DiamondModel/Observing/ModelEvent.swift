/// The origin of a change.
public enum ChangeSource: Sendable {
    /// A setter, or a write by key.
    case user
    /// JSON that was merged.
    case server
    /// A rollback.
    case rollback
}

/// A change of one property.
public struct PropertyChange {
    /// The property that changed.
    public let property: AnyProperty
    /// The properties on the path from the observed model to the one that changed; none for its own property.
    private(set) var owners: [AnyProperty] = []
    /// The model that has the property; `nil` for a change of the members of a nested collection.
    let holder: Model?
    public let old: Any
    public internal(set) var new: Any
    /// Whether a property that the JSON lacked was set to its current value. The values are equal then.
    var isConfirmation = false

    /// The properties on the path from the observed model to the change; more than one for a change of a nested model.
    public var path: [AnyProperty] { owners + [property] }

    /// The number of nested models on the path.
    var depth: Int { owners.count }

    /// The keys of the path, joined by dots: `mayor.name`.
    public var key: String { path.map(\.key).joined(separator: ".") }

    func nested(in property: AnyProperty) -> PropertyChange {
        var change = self
        change.owners = [property] + owners
        return change
    }

    func isOfSameProperty(as other: PropertyChange) -> Bool {
        holder === other.holder && property === other.property && owners.elementsEqual(other.owners, by: ===)
    }
}

/// The changes of a model in one transaction.
public struct ModelEvent {
    public let model: Model
    /// One change for each property of a model, from its value before the transaction to its value after it.
    public let changes: [PropertyChange]
    public let source: ChangeSource
    /// Whether ``Model/isNew``, ``Model/isDirty`` or ``Model/saveState`` may have changed.
    let hasStateChange: Bool
    /// The number of nested models on the longest path of the changes.
    let depth: Int

    init(model: Model, changes: [PropertyChange], source: ChangeSource, hasStateChange: Bool) {
        self.model = model
        self.changes = changes
        self.source = source
        self.hasStateChange = hasStateChange
        depth = changes.count == 1 ? changes[0].depth : changes.lazy.map(\.depth).max() ?? 0
    }

    /// The change of a property of the model itself.
    public subscript<Owner: Model, Value>(property: Property<Owner, Value>) -> ValueChange<Value>? {
        guard let change = changes.first(where: { $0.property === property && $0.depth == 0 }),
            let old = change.old as? Value, let new = change.new as? Value
        else { return nil }
        return ValueChange(old: old, new: new)
    }
}

/// The old and the new value of a property.
public struct ValueChange<Value> {
    public let old: Value
    public let new: Value

    package init(old: Value, new: Value) {
        self.old = old
        self.new = new
    }
}

extension ValueChange: Equatable where Value: Equatable {}
extension ValueChange: Sendable where Value: Sendable {}
