public import Diamond

/// A place where JSON did not hold what a property needs, so that the property has its default.
public struct Repair: Hashable, Sendable {
    /// The reason of a repair.
    public enum Reason: Hashable, Sendable {
        /// The JSON has no such member.
        case missing
        /// The member is `null`.
        case null
        /// The member is of another type.
        case wrongType
        /// The value breaks a rule of a property that rejects such values; with the rule's name.
        case rule(String)
    }

    /// The property's key, with the place inside an array or object behind it: `tags[3]`.
    public let place: String
    /// The reason, of those above.
    public let reason: Reason
    /// The JSON that was found; `nil` when there was none.
    public let found: JSONValue?

    /// The key of the property, without a place inside its value.
    let key: String
}

extension Repair: CustomStringConvertible {
    public var description: String {
        switch reason {
        case .missing: "\(place) is missing"
        case .null: "\(place) is null"
        case .wrongType: "\(place) is \(found?.kindName ?? "nothing")"
        case .rule(let name): "\(place) breaks the rule \(name)"
        }
    }
}

/// The repairs of a reading.
public struct RepairLog {
    private(set) var repairs: [Repair] = []
    /// The context that nested models are looked up in.
    let context: ModelContext?
    /// The staged effects on other objects; `nil` outside a context.
    let staging: Staging?
    private var key = ""
    private var place = ""
    /// The number of repairs that are of earlier properties.
    private var start = 0

    @usableFromInline
    init() { self.init(context: nil, staging: nil) }

    init(context: ModelContext?, staging: Staging?) {
        self.context = context
        self.staging = staging
    }

    /// Runs `body` for the value of one property.
    mutating func reading<Value>(_ key: PropertyKey, _ body: (inout RepairLog) -> Value?) -> Value? {
        self.key = key.text
        place = key.text
        let value = body(&self)
        start = repairs.count
        return value
    }

    /// Returns what `body` returns for an element, and notes a repair when that is `nil`.
    mutating func within<Value>(
        _ suffix: String,
        found json: JSONValue,
        _ body: (inout RepairLog) -> Value?
    ) -> Value? {
        let outer = place
        place += suffix
        defer { place = outer }
        if let value = body(&self) { return value }
        note(json == .null ? .null : .wrongType, found: json)
        return nil
    }

    /// Whether nothing was noted since the last property began.
    @usableFromInline var isClean: Bool { repairs.count == start }

    /// Drops the repairs of the property that is being read.
    mutating func rewind() { repairs.removeLast(repairs.count - start) }

    /// Notes a repair at the place that is being read.
    mutating func note(_ reason: Repair.Reason, found json: JSONValue?) {
        repairs.append(Repair(place: place, reason: reason, found: json, key: key))
    }

    /// Notes values that a live nested model rejects.
    func note(_ violations: [Violation]) {
        staging?.note(violations.map { Violation(key: "\(place).\($0.key)", rule: $0.rule) })
    }

    /// Notes the values that live nested models have rejected as repairs: a reading throws for none.
    mutating func repairViolations(found json: JSONValue) {
        guard let staging else { return }
        repairs += staging.takeViolations().map { violation in
            Repair(place: violation.key, reason: .rule(violation.rule), found: json, key: key)
        }
    }
}
