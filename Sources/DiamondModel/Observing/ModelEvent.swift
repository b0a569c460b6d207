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
    private let owners: [AnyProperty]
    public let old: Any
    public internal(set) var new: Any
    /// Whether a property that the JSON lacked was set to its current value. The values are equal then.
    let isConfirmation: Bool
    /// The model that has the property; `nil` for a change of the members of a nested collection.
    let holder: Model?

    init(property: AnyProperty, of holder: Model?, old: Any, new: Any, isConfirmation: Bool = false) {
        self.init(property, in: [], of: holder, old: old, new: new, isConfirmation: isConfirmation)
    }

    private init(
        _ property: AnyProperty, in owners: [AnyProperty], of holder: Model?, old: Any, new: Any, isConfirmation: Bool
    ) {
        self.property = property
        self.owners = owners
        self.holder = holder
        self.old = old
        self.new = new
        self.isConfirmation = isConfirmation
    }

    /// The properties on the path from the observed model to the change; more than one for a change of a nested model.
    public var path: [AnyProperty] { owners + [property] }

    /// The number of nested models on the path.
    var depth: Int { owners.count }

    /// The keys of the path, joined by dots: `mayor.name`.
    public var key: String { path.map(\.key).joined(separator: ".") }

    func nested(in property: AnyProperty) -> PropertyChange {
        PropertyChange(
            self.property, in: [property] + owners, of: holder, old: old, new: new, isConfirmation: isConfirmation)
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
        depth = changes.lazy.map(\.depth).max() ?? 0
    }

    /// Creates the event of one change of a property that the user has set.
    init(_ change: PropertyChange, of model: Model, hasStateChange: Bool) {
        self.model = model
        changes = [change]
        source = .user
        self.hasStateChange = hasStateChange
        depth = 0
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
