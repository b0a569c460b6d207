public import Diamond

/// Reads or writes all properties of a model.
///
/// A model class overrides ``Model/visit(_:)`` with one line for each property.
public final class PropertyVisitor {
    /// The purpose of a visit.
    @usableFromInline
    enum Purpose {
        /// Reads a new model's values from JSON.
        case read
        /// Collects the values.
        case collect
        /// Collects the values with models and collections.
        case collectNested
        /// Sets values, and notifies the model's observers.
        case assign
        /// Sets values of a model without observers.
        case fill
        /// Writes values as JSON text.
        case write
    }

    /// A property and its value.
    struct Slot {
        let property: AnyProperty
        let value: Any
    }

    /// The JSON array for a nested collection.
    struct NestedArray {
        let property: AnyProperty
        let core: CollectionCore
        let values: [JSONItem]
    }

    @usableFromInline let purpose: Purpose
    @exclusivity(unchecked) private var object = ObjectMembers([:])
    // Unchecked, because the checks take as long as the reading of a value. Nested objects have other visitors.
    /// The object's members, if they are values.
    @exclusivity(unchecked) @usableFromInline private(set) var values: [String: JSONValue]?
    /// The members of an object in a text.
    @exclusivity(unchecked) private var plan = MemberPlan()
    @exclusivity(unchecked) @usableFromInline var log = RepairLog()
    private(set) var slots: [Slot] = []
    /// The values to set, by property.
    private var newValues: [ObjectIdentifier: Any] = [:]
    private let model: Model?
    private(set) var changes: [PropertyChange] = []
    /// Whether any property has a model or a collection.
    @exclusivity(unchecked) private var hasNested = false
    /// The arrays for nested collections.
    @exclusivity(unchecked) private var arrays: [NestedArray] = []
    /// The JSON text that is being written.
    // Unchecked, because each access only writes one part.
    @exclusivity(unchecked) var output = JSONWriter()
    /// The order of the members of the last object that was written.
    @exclusivity(unchecked) var order = MemberOrder()
    /// The model whose values are being written.
    var writing: WrittenModel?

    init(_ purpose: Purpose, model: Model? = nil) {
        self.purpose = purpose
        self.model = model
    }

    /// Visits a property.
    ///
    /// - Returns: The value to store in the model.
    @inlinable
    @discardableResult
    public func visit<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) -> Value {
        guard purpose == .read else { return visitSlowly(property, with: value) }
        if let values {
            if property.isPlain, let name = property.onlyName, let json = values[name],
                let read = property.codec.decode(json, &log), isClean
            {
                return read
            }
        } else if let read = nextValue(of: property) {
            return read
        }
        return restart(property, with: value)
    }

    /// Whether the current property has no repairs.
    // Not asked of the log by the app's code, which would copy the log.
    @usableFromInline var isClean: Bool { log.isClean }

    /// Returns the value of the next property in the text that is being read; `nil` if it has to be read again.
    @inlinable
    func nextValue<Owner: Model, Value>(of property: Property<Owner, Value>) -> Value? {
        if property.codec.isOwn, property.isPlain {
            // The compiler of a class knows the types, and leaves one of these calls.
            if Value.self == String.self { return nextString(of: property).map { unsafeBitCast($0, to: Value.self) } }
            if Value.self == Int.self { return nextInteger(of: property).map { unsafeBitCast($0, to: Value.self) } }
            if Value.self == Double.self { return nextDouble(of: property).map { unsafeBitCast($0, to: Value.self) } }
            if Value.self == Bool.self { return nextBool(of: property).map { unsafeBitCast($0, to: Value.self) } }
        }
        guard let text = nextText(of: property), property.isPlain, let read = property.codec.read(text, &log), isClean
        else { return nil }
        return read
    }

    /// Returns the member of a property in the text that is being read.
    @usableFromInline
    func nextText(of property: AnyProperty) -> TextElement? { plan.next(of: property).map(TextElement.init) }

    @usableFromInline
    func nextString(of property: AnyProperty) -> String? { plan.next(of: property).flatMap(String.init(text:)) }

    @usableFromInline
    func nextInteger(of property: AnyProperty) -> Int? { plan.next(of: property).flatMap(Int.init(text:)) }

    @usableFromInline
    func nextDouble(of property: AnyProperty) -> Double? { plan.next(of: property).flatMap(Double.init(text:)) }

    @usableFromInline
    func nextBool(of property: AnyProperty) -> Bool? { plan.next(of: property).flatMap(Bool.init(text:)) }

    /// Reads a value again after the fast path, whose repairs lack the path.
    @usableFromInline
    func restart<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) -> Value {
        log.rewind()
        return readSlowly(property, with: value)
    }

    @usableFromInline
    func visitSlowly<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) -> Value {
        if purpose != .write { return visitOnce(property, with: value) }
        write(property, with: value)
        return value
    }

    // Apart, because it would look up the type of an optional value for each property that is written.
    @inline(never)
    private func visitOnce<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) -> Value {
        switch purpose {
        case .read: return readSlowly(property, with: value)
        case .collect: slots.append(Slot(property: property, value: value))
        case .collectNested: if property.isNested { slots.append(Slot(property: property, value: value)) }
        case .fill: return newValue(of: property) ?? value
        case .assign: return assign(property, with: value)
        case .write: break
        }
        return value
    }

    private func assign<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) -> Value {
        guard let model, let new = newValue(of: property), !property.form.areSame(value, new) else { return value }
        property.willSet(on: model)
        changes.append(PropertyChange(property: property, holder: model, old: value, new: new))
        return new
    }

    /// Returns the value to set; `nil` for a property that keeps its value.
    private func newValue<Owner: Model, Value>(of property: Property<Owner, Value>) -> Value? {
        // A cast of a missing value to an optional type would succeed with `nil`.
        guard let new = newValues[ObjectIdentifier(property)] else { return nil }
        return new as? Value
    }

    private func readSlowly<Owner: Model, Value>(_ property: Property<Owner, Value>, with value: Value) -> Value {
        if property.isNested { hasNested = true }
        guard property.access != .transient else { return value }
        let item = property.item(in: object)
        if let core = property.nestedCollection(in: value) {
            let values = log.elements(of: property, in: item)
            if let values { arrays.append(NestedArray(property: property, core: core, values: values)) }
            return value
        }
        return log.read(property, from: item) ?? value
    }
}

extension PropertyVisitor {
    /// Returns the properties of a model and their values.
    static func slots(of model: Model) -> [Slot] {
        let visitor = PropertyVisitor(.collect)
        model.visit(visitor)
        return visitor.slots
    }

    /// Returns the properties of a model that hold models and collections, and their values.
    static func nestedSlots(of model: Model) -> [Slot] {
        let visitor = PropertyVisitor(.collectNested)
        model.visit(visitor)
        return visitor.slots
    }

    /// The result of a reading.
    struct Reading {
        let repairs: [Repair]
        let arrays: [NestedArray]
        /// Whether any property has a model or a collection.
        let hasNested: Bool
    }

    /// Reads a new model's values, except the arrays of nested collections.
    func read(
        _ object: ObjectMembers, into model: Model, context: ModelContext?, staging: Staging?, readers: ObjectReaders
    ) -> Reading {
        self.object = object
        log = RepairLog(context: context, staging: staging, readers: readers)
        values = object.values
        if let element = object.element { plan.begin(element) }
        model.visit(self)
        defer { (log, self.object, values, arrays, hasNested) = (RepairLog(), ObjectMembers([:]), nil, [], false) }
        return Reading(repairs: log.repairs, arrays: arrays, hasNested: hasNested)
    }

    /// Sets values of a model without observers.
    static func fill(_ model: Model, with slots: [Slot]) {
        let visitor = PropertyVisitor(.fill)
        for slot in slots { visitor.newValues[ObjectIdentifier(slot.property)] = slot.value }
        model.visit(visitor)
    }

    /// Sets values of a model, and returns the changes.
    static func assign(_ slots: [Slot], to model: Model) -> [PropertyChange] {
        let visitor = PropertyVisitor(.assign, model: model)
        for slot in slots { visitor.newValues[ObjectIdentifier(slot.property)] = slot.value }
        model.visit(visitor)
        for change in visitor.changes { change.property.didSet(on: model) }
        return visitor.changes
    }
}

extension RepairLog {
    /// Returns the value of a property. Records a repair and returns `nil` if the value is missing, has the wrong type,
    /// or breaks a rule of a property that rejects such values.
    mutating func read<Owner: Model, Value>(_ property: Property<Owner, Value>, from item: JSONItem?) -> Value? {
        reading(property.keys[0]) { log in
            guard let item else { log.note(.missing, found: nil); return nil }
            guard let value = property.codec.decodeItem(item, &log) else {
                log.note(.init(refusing: item.value), found: item.value)
                return nil
            }
            log.repairViolations(found: item)
            guard property.policy == .reject, let rule = property.brokenRules(of: value).first else { return value }
            log.note(.rule(rule), found: item.value)
            return nil
        }
    }

    /// Returns the value of a property of any type. Records a repair and returns `nil` for JSON that it refuses.
    mutating func decode(_ property: AnyProperty, from json: JSONValue) -> Any? {
        if let value = property.decode(json, repairs: &self) { return value }
        note(.init(refusing: json), found: json)
        return nil
    }

    /// Returns the elements for a nested collection. If there is no array, records a repair and returns `nil`.
    mutating func elements(of property: AnyProperty, in item: JSONItem?) -> [JSONItem]? {
        reading(property.keys[0]) { log in
            if let items = item?.elements { return items }
            let json = item?.value
            log.note(json.map(Repair.Reason.init(refusing:)) ?? .missing, found: json)
            return nil
        }
    }
}
