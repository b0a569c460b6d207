import Diamond
import Observation

/// The declaration of a model's property: its key in JSON, its codec, its rules and its access.
///
/// Declare it as a static constant of the model class. The property's default is its value in a new model.
///
/// ```swift
/// static let name: Property<City, String> = Property(\.name, "name", or: "title", rules: [.nonEmpty])
/// ```
///
/// `@unchecked Sendable`, because it is immutable.
public final class Property<Owner: Model, Value>: AnyProperty, @unchecked Sendable {
    @usableFromInline let keyPath: any KeyPath<Owner, Value> & Sendable
    @usableFromInline let codec: Codec<Value>
    @usableFromInline let form: Form
    @usableFromInline let rules: [Rule<Value>]

    /// The operations that differ between plain values, models and collections.
    @usableFromInline
    struct Form: Sendable {
        /// Whether two values are the same for a setter (identical for models).
        @usableFromInline let areSame: @Sendable (Value, Value) -> Bool
        /// Whether two values are equal by value.
        let areEqual: @Sendable (Value, Value) -> Bool
        let duplicate: @Sendable (Value) -> Value
        /// Whether the texts in equal values have equal bytes; `nil` for values without texts.
        @usableFromInline var texts: (@Sendable (Value, Value) -> Bool)?
        var model: (@Sendable (Value) -> Model?)?
        /// The declared class of a nested model.
        var modelType: Model.Type?
        var collection: (@Sendable (Value) -> CollectionCore)?
    }

    @usableFromInline
    init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, keys: [PropertyKey], access: Access,
        codec: Codec<Value>, rules: [Rule<Value>], policy: RulePolicy, form: Form
    ) {
        self.keyPath = keyPath
        self.codec = codec
        self.form = form
        self.rules = rules
        let isNested = form.model != nil || form.collection != nil
        super.init(
            keys: keys, access: access, policy: policy, keyPath: keyPath, hasRules: !rules.isEmpty, isNested: isNested,
            isReference: Value.self is any ObjectReference.Type, idKey: Owner.idKey)
    }

    // MARK: Values without their type

    // The casts below succeed: `PropertyVisitor` has read the values from properties of this type.

    override func decode(_ json: JSONValue, repairs: inout RepairLog) -> Any? { codec.decode(json, &repairs) }

    override func encode(_ value: Any) -> JSONValue { (value as? Value).map(codec.encode) ?? .null }

    override func areEqual(_ left: Any, _ right: Any) -> Bool { compare(left, right, by: form.areEqual) }

    override func areSame(_ left: Any, _ right: Any) -> Bool { compare(left, right, by: form.areSame) }

    private func compare(_ left: Any, _ right: Any, by test: (Value, Value) -> Bool) -> Bool {
        guard let left = left as? Value, let right = right as? Value else { return false }
        return test(left, right)
    }

    override func duplicate(_ value: Any) -> Any { (value as? Value).map(form.duplicate) ?? value }

    override func brokenRules(of value: Any) -> [String] {
        guard !rules.isEmpty, let value = value as? Value else { return [] }
        return brokenRules(of: value)
    }

    func brokenRules(of value: Value) -> [String] { rules.filter { !$0.isMet(value) }.map(\.name) }

    override func reason(ofRule name: String) -> String? { rules.first { $0.name == name }?.reason }

    override var isRequired: Bool { rules.contains { $0.checksJSON } }

    override func nestedModel(in value: Any) -> Model? {
        guard let model = form.model, let value = value as? Value else { return nil }
        return model(value)
    }

    override var nestedModelType: Model.Type? { form.modelType }

    override func nestedCollection(in value: Any) -> CollectionCore? {
        guard let collection = form.collection, let value = value as? Value else { return nil }
        return collection(value)
    }

    override func access(on model: Model) {
        model.registrar?.access(unsafeDowncast(model, to: Owner.self), keyPath: keyPath)
    }

    func willSet(on model: Model) {
        model.registrarIfAny?.willSet(unsafeDowncast(model, to: Owner.self), keyPath: keyPath)
    }

    override func didSet(on model: Model) {
        model.registrarIfAny?.didSet(unsafeDowncast(model, to: Owner.self), keyPath: keyPath)
    }

    override func original(_ value: Any) -> AnyOriginal? { (value as? Value).map { Original($0) } }
}

// Values are Sendable, so that no part of them can change unobserved.

extension Property where Value: Equatable & Sendable {
    /// Declares a property whose values a codec converts: a date, a URL, a mapped value.
    ///
    /// `key` is written, and read first. The alternatives are read if it has no value. `policy` is the handling of
    /// values that break a rule.
    public convenience init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        codec: Codec<Value>, access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: codec, rules: rules, policy: policy,
            form: .values)
    }
}

extension Property where Value: ModelValue & Sendable {
    /// Declares a property whose values convert themselves.
    ///
    /// `key` is written, and read first. The alternatives are read if it has no value. `policy` is the handling of
    /// values that break a rule.
    @inlinable
    public convenience init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .own, rules: rules, policy: policy,
            form: .values)
    }
}

extension Property where Value: Model {
    /// Declares a property with a nested model.
    public convenience init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user
    ) {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .nested, rules: [], policy: .keep,
            form: .nested)
    }
}

extension Property where Value == Owner {
    /// Declares a property that a class cannot have: each new object would create another one, without end.
    @available(*, deprecated, message: "a class cannot hold itself: make the property optional, Property(nullable:)")
    public convenience init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user
    ) {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .nested, rules: [], policy: .keep,
            form: .nested)
    }
}

extension Codec where Value: Model {
    static var nested: Codec {
        // A property with models is not read in the short way.
        Codec(
            decode: { json, repairs in try? Value.nested(in: .value(json), log: &repairs) }, encode: { $0.json },
            readText: nil, isOwn: false, decodeItem: { item, repairs in try? Value.nested(in: item, log: &repairs) },
            write: { $1.write($0) })
    }
}

extension Property.Form where Value: Model {
    fileprivate static var nested: Self {
        Self(
            areSame: { $0 === $1 }, areEqual: { $0.isEqual(to: $1) }, duplicate: { $0.copy() }, model: { $0 },
            modelType: Value.self)
    }
}

extension Property {
    /// Declares a property with a collection of models, a JSON array. The collection is a constant.
    public convenience init<Element: Model>(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user
    ) where Value == ModelCollection<Element> {
        let codec = Codec<Value>(
            logging: { _, _ in nil }, encode: { $0.json }, writing: { $1.write($0.core) })
        let form = Form(
            areSame: { $0 === $1 }, areEqual: { $0.core.hasEqualModels(to: $1.core) },
            duplicate: { $0 }, collection: { $0.core })
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: codec, rules: [], policy: .keep, form: form)
    }
}

extension Property.Form where Value: Equatable & SendableMetatype {
    @usableFromInline
    static var values: Self {
        let texts = ExactEquality.texts(of: Value.self)
        guard let texts else { return Self(areSame: { $0 == $1 }, areEqual: { $0 == $1 }, duplicate: { $0 }) }
        let areEqual: @Sendable (Value, Value) -> Bool = { $0 == $1 && texts($0, $1) }
        return Self(areSame: areEqual, areEqual: areEqual, duplicate: { $0 }, texts: texts)
    }
}
