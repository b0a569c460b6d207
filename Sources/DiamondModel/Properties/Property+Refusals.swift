// Unavailable declarations, each with a message that says what to write instead. The compiler prefers the other
// overloads for a subclass of Model, a ModelCollection and a Sendable object.

extension Property where Value: AnyObject {
    @available(*, unavailable, message: "an object can change unnoticed: use a value, a Model or a ModelCollection")
    public convenience init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "an object can change unnoticed: use a value, a Model or a ModelCollection")
    public convenience init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        codec: Codec<Value>, access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) {
        fatalError("unavailable")
    }
}

extension Property {
    @available(*, unavailable, message: "give the property a default that is not nil, or write Property(nullable:)")
    public convenience init<Wrapped>(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped? {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "give the property a default that is not nil, or write Property(nullable:)")
    public convenience init<Wrapped>(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        codec: Codec<Wrapped>, access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped? {
        fatalError("unavailable")
    }

    @available(*, unavailable, message: "an array of models is a ModelCollection")
    public convenience init<Element: Model>(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user
    ) where Value == [Element] {
        fatalError("unavailable")
    }
}

// The compiler chooses these where no other overload fits.

extension Property {
    @_disfavoredOverload
    @available(
        *, unavailable,
        message: "the type has no form in JSON: declare it nonisolated, Sendable and a ModelValue, or pass a codec"
    )
    public convenience init(
        _ keyPath: KeyPath<Owner, Value>, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) {
        fatalError("unavailable")
    }

    @_disfavoredOverload
    @available(
        *, unavailable,
        message: "the type has no form in JSON: declare it nonisolated, Sendable and a ModelValue, or pass a codec"
    )
    public convenience init<Wrapped>(
        nullable keyPath: KeyPath<Owner, Value>, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped? {
        fatalError("unavailable")
    }
}
