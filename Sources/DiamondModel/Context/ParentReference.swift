public import Diamond

/// A weak reference to a model's parent, written to JSON as the parent's id.
///
/// It is read from an id, or from an object with an id.
public struct ParentReference<Parent: Model>: ModelValue {
    private weak var parent: Parent?
    private let storedID: ModelID?

    /// Creates a reference to the parent with an id; to no parent by default.
    public init(id: ModelID? = nil) { storedID = id }

    public init(_ parent: Parent) {
        self.parent = parent
        storedID = parent.modelID
    }

    public init?(json: JSONValue) {
        guard let id = ModelID(reference: json, idKey: Parent.idKey) else { return nil }
        self.init(id: id)
    }

    /// The parent's current id.
    public var id: ModelID? { parent?.modelID ?? storedID }

    /// The id; text that begins with `local:` if the server has not assigned one yet.
    public var json: JSONValue { id?.reference ?? .null }

    /// Returns the referenced parent. If there is none, returns the context's live instance with the id.
    public func model(in context: ModelContext? = nil) -> Parent? {
        if let parent { return parent }
        guard let storedID else { return nil }
        return context?.existing(Parent.self, id: storedID)
    }

    public static func == (left: Self, right: Self) -> Bool { left.id == right.id }
}

extension Property {
    /// Declares a property that refers to the model's parent.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - key: The key to write, and to read first.
    ///   - alternatives: The keys to read if `key` has no value.
    ///   - access: The access to the property.
    ///   - rules: The conditions for its values.
    ///   - policy: The handling of values that break a rule.
    public convenience init<Parent: Model>(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == ParentReference<Parent> {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .own, rules: rules, policy: policy,
            form: .values)
    }
}
