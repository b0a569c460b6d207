public import Diamond

/// A reader or writer of all properties of a model.
///
/// A model class overrides ``Model/visit(_:)`` with one line a property.
public final class PropertyVisitor {
    /// The purpose of a visit.
    @usableFromInline
    enum Purpose {
        /// Reads a new model's values from JSON.
        case read
        /// Collects the values.
        case collect
        /// Puts values, and tells the model's observers.
        case assign
        /// Puts values into a model that has no observers yet.
        case fill
    }

    /// A property and its value.
    struct Slot {
        let property: AnyProperty
        let value: Any
    }

    /// The array that a nested collection is to be read from.
    struct NestedArray {
        let property: AnyProperty
        let core: CollectionCore
        let values: [JSONValue]
    }

    @usableFromInline let purpose: Purpose
    @usableFromInline let object: [String: JSONValue]
    @usableFromInline var log = RepairLog()
    private(set) var slots: [Slot] = []
    /// The values to put, by property.
    private var values: [ObjectIdentifier: Any] = [:]
    private let model: Model?
    private(set) var changes: [PropertyChange] = []
    /// Whether a property holds a model or a collection.
    private var hasNested = false
    /// The arrays for nested collections.
    private var arrays: [NestedArray] = []

    private init(_ purpose: Purpose, object: [String: JSONValue] = [:], model: Model? = nil) {
        self.purpose = purpose
        self.object = object
        self.model = model
    }

    /// Visits a property.
    ///
    /// - Returns: the value that the model has to store.
    @inlinable
    @discardableResult
    public func visit<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) -> Value {
        guard purpose == .read else { return visitSlowly(property, value) }
        if property.isPlain, let name = property.onlyName, let json = object[name],
            let read = property.codec.decode(json, &log), log.isClean
        {
            return read
        }
        return restart(property, value)
    }

    // The fast path does not tell the log its key, so that repairs would have no place: the value is read again.
    @usableFromInline
    func restart<Owner: Model, Value>(_ property: Property<Owner, Value>, _ value: Value) -> Value {
        log.rewind()
        return readSlowly(property, value)
    }

    @usableFromInline
    func visitSlowly<Owner: Model, Value>(_ property: Property<Owner, Value>, _ value: Value) -> Value {
        switch purpose {
        case .read: return readSlowly(property, value)
        case .collect: slots.append(Slot(property: property, value: value))
        case .fill: return values[ObjectIdentifier(property)] as? Value ?? value
        case .assign: return assign(property, value)
        }
        return value
    }

    private func assign<Owner: Model, Value>(_ property: Property<Owner, Value>, _ value: Value) -> Value {
        guard let model, let new = values[ObjectIdentifier(property)] as? Value, !property.form.areSame(value, new)
        else { return value }
        property.willSet(on: model)
        changes.append(PropertyChange(property: property, old: value, new: new))
        return new
    }

    private func readSlowly<Owner: Model, Value>(_ property: Property<Owner, Value>, _ value: Value) -> Value {
        if property.isNested { hasNested = true }
        guard property.access != .transient else { return value }
        let json = property.keyFound(in: object).flatMap { $0.value(in: object) }
        if let core = property.nestedCollection(in: value) {
            let values = log.elements(of: property, json)
            if let values { arrays.append(NestedArray(property: property, core: core, values: values)) }
            return value
        }
        return log.read(property, json) ?? value
    }
}

extension PropertyVisitor {
    /// The properties of a model and their values.
    static func slots(of model: Model) -> [Slot] {
        let visitor = PropertyVisitor(.collect)
        model.visit(visitor)
        return visitor.slots
    }

    /// The result of a reading.
    struct Reading {
        let repairs: [Repair]
        let arrays: [NestedArray]
        /// Whether any properties hold models.
        let hasNested: Bool
    }

    /// Reads a new model's values, all but the arrays of nested collections.
    static func read(_ object: [String: JSONValue], into model: Model, _ log: RepairLog) -> Reading {
        let visitor = PropertyVisitor(.read, object: object)
        visitor.log = log
        model.visit(visitor)
        return Reading(repairs: visitor.log.repairs, arrays: visitor.arrays, hasNested: visitor.hasNested)
    }

    /// Puts values into a model that has no observers yet.
    static func fill(_ model: Model, with slots: [Slot]) {
        let visitor = PropertyVisitor(.fill)
        for slot in slots { visitor.values[ObjectIdentifier(slot.property)] = slot.value }
        model.visit(visitor)
    }

    /// Puts values into a model, and returns the changes.
    static func assign(_ slots: [Slot], to model: Model) -> [PropertyChange] {
        let visitor = PropertyVisitor(.assign, model: model)
        for slot in slots { visitor.values[ObjectIdentifier(slot.property)] = slot.value }
        model.visit(visitor)
        for change in visitor.changes { change.property.didSet(on: model) }
        return visitor.changes
    }
}

extension RepairLog {
    /// The value of a property, judged by its rules too; `nil` where it has to have its default, which is noted.
    mutating func read<Owner: Model, Value>(_ property: Property<Owner, Value>, _ json: JSONValue?) -> Value? {
        reading(property.keys[0]) { log in
            guard let json else { log.note(.missing, found: nil); return nil }
            guard let value = property.codec.decode(json, &log) else {
                log.note(json == .null ? .null : .wrongType, found: json)
                return nil
            }
            log.repairViolations(found: json)
            guard property.policy == .reject, let rule = property.brokenRules(of: value).first else { return value }
            log.note(.rule(rule), found: json)
            return nil
        }
    }

    /// The elements for a nested collection; `nil` where there is no array, which is noted.
    mutating func elements(of property: AnyProperty, _ json: JSONValue?) -> [JSONValue]? {
        reading(property.keys[0]) { log in
            if case .array(let values)? = json { return values }
            log.note(json == nil ? .missing : json == .null ? .null : .wrongType, found: json)
            return nil
        }
    }
}
