public import Diamond

/// An invalid or missing value in JSON. The property has its default instead, or leaves out the element.
public struct Repair: Hashable, Sendable {
    /// The reason for a repair.
    public enum Reason: Hashable, Sendable {
        /// The JSON has no such member.
        case missing
        /// The member is `null`.
        case null
        /// The member is of another type.
        case wrongType
        /// The property's codec refuses the value. Has its reason.
        case refused(String)
        /// The value breaks a rule, and the property rejects such values. Has the rule's name.
        case rule(String)
        /// The object could be read differently by two readers: a name twice, a lone surrogate, a number larger than
        /// any double. Or it is nested too deeply. Has the reason.
        case unreadable(String)

        /// The reason for which a property does not take JSON of the wrong type.
        init(refusing json: JSONValue) {
            self = json == .null ? .null : json.fault.map(Reason.unreadable) ?? .wrongType
        }

        /// The codec's reason.
        var refusal: String? { if case .refused(let reason) = self { reason } else { nil } }
    }

    /// The path of the value: the property's key, and the index or key within an array or object, such as `tags[3]`.
    public let path: String
    public let reason: Reason
    /// The JSON at this path; `nil` if there was none.
    public let found: JSONValue?

    /// The key of the property.
    let key: String

    /// Returns the repair of a nested model as one of its owner.
    func nested(at path: String, in property: AnyProperty) -> Repair {
        Repair(path: "\(path).\(self.path)", reason: reason, found: found, key: property.key)
    }
}

extension Repair: CustomStringConvertible {
    public var description: String {
        switch reason {
        case .missing: "\(path) is missing"
        case .null: "\(path) is null"
        case .wrongType: "\(path) is \(found?.kindName ?? "nothing")"
        case .refused(let reason): "\(path) \(reason)"
        case .rule(let name): "\(path) breaks the rule \(name)"
        case .unreadable(let reason): "\(path) cannot be read: \(reason)"
        }
    }
}

/// The repairs of one decoding.
public struct RepairLog {
    private(set) var repairs: [Repair] = []
    /// The context for nested models.
    let context: ModelContext?
    /// The staged effects on other objects; `nil` outside a context.
    let staging: Staging?
    /// The readers of nested models without a context; `nil` for new ones.
    let readers: ObjectReaders?
    private var key = ""
    private var path = ""
    /// The reason for which the current value is refused.
    private var refusal: String?
    /// The number of repairs of earlier properties.
    private var start = 0

    @usableFromInline
    init() { self.init(context: nil, staging: nil) }

    init(context: ModelContext?, staging: Staging?, readers: ObjectReaders? = nil) {
        self.context = context
        self.staging = staging
        self.readers = readers
    }

    /// Runs `body` for the value of one property.
    mutating func reading<Value>(_ key: PropertyKey, body: (inout RepairLog) -> Value?) -> Value? {
        self.key = key.text
        path = key.text
        refusal = nil
        let value = body(&self)
        start = repairs.count
        return value
    }

    /// Returns the result of `body` for an element. Records a repair if it is `nil`.
    mutating func within<Value>(
        _ suffix: String,
        found json: JSONValue,
        body: (inout RepairLog) -> Value?
    ) -> Value? {
        let outer = path
        path += suffix
        defer { path = outer }
        if let value = body(&self) { return value }
        note(.init(refusing: json), found: json)
        return nil
    }

    /// Whether the current property has no repairs.
    var isClean: Bool { repairs.count == start }

    /// Removes the repairs of the current property.
    mutating func rewind() {
        repairs.removeLast(repairs.count - start)
        refusal = nil
    }

    /// Sets the reason for which the current value is refused, to show to the user: `"is not a postal code"`. The type
    /// or codec then returns `nil`.
    public mutating func refuse(because reason: String) { refusal = reason }

    /// Records a repair at the current path.
    mutating func note(_ reason: Repair.Reason, found json: JSONValue?) {
        let reason = reason == .wrongType ? refusal.map(Repair.Reason.refused) ?? reason : reason
        refusal = nil
        repairs.append(Repair(path: path, reason: reason, found: json, key: key))
    }

    /// Records values that a live nested model rejects.
    func note(_ violations: [Violation]) {
        staging?.note(violations.map { Violation(key: "\(path).\($0.key)", rule: $0.rule, reason: $0.reason) })
    }

    /// Records a repair for each value that a live nested model has rejected. Reading JSON does not throw for it.
    mutating func repairViolations(found item: JSONItem) {
        guard let staging else { return }
        repairs += staging.takeViolations().map { violation in
            Repair(path: violation.key, reason: .rule(violation.rule), found: item.value, key: key)
        }
    }
}
