/// A condition that a property's value has to meet.
public struct Rule<Value>: Sendable {
    /// The name of the rule in violations and repairs.
    let name: String
    /// The reason for which a value that breaks the rule is refused, to show next to its field; without one, a
    /// violation says that it breaks the rule.
    let reason: String?
    let isMet: @Sendable (Value) -> Bool
    /// Whether the rule checks that the JSON had a value, instead of checking the value.
    let checksJSON: Bool

    /// Creates a custom rule.
    ///
    /// - Parameters:
    ///   - name: The name of the rule in violations and repairs.
    ///   - reason: The reason to show to the user, in the user's language: `"must be even"`.
    ///   - isMet: Returns whether a value meets the rule.
    public init(_ name: String, reason: String? = nil, isMet: @escaping @Sendable (Value) -> Bool) {
        self.name = name
        self.reason = reason
        self.isMet = isMet
        checksJSON = false
    }

    private init(checkingJSON name: String) {
        self.name = name
        reason = "is required"
        isMet = { _ in true }
        checksJSON = true
    }

    /// The JSON must have a value of the right type, or a value must have been set.
    public static var required: Rule { Rule(checkingJSON: "required") }
}

extension Rule where Value: Collection & SendableMetatype {
    /// The value must not be empty.
    public static var nonEmpty: Rule { Rule("nonEmpty", reason: "must not be empty") { !$0.isEmpty } }
}

extension Rule where Value: Numeric & SendableMetatype {
    /// The number must not be zero.
    public static var nonZero: Rule { Rule("nonZero", reason: "must not be zero") { $0 != .zero } }
}

extension Rule where Value == Bool {
    /// The value must be `true`.
    public static var isTrue: Rule { Rule("isTrue", reason: "must be true") { $0 } }
}

extension Rule where Value: Comparable & Sendable {
    /// The value must be within a range: `.range(0...)`.
    public static func range(_ range: some RangeExpression<Value> & Sendable) -> Rule {
        Rule("range", reason: reason(for: range)) { range.contains($0) }
    }

    private static func reason(for range: some RangeExpression<Value>) -> String {
        switch range {
        case let range as ClosedRange<Value>: "must be from \(range.lowerBound) to \(range.upperBound)"
        case let range as Range<Value>: "must be at least \(range.lowerBound), and less than \(range.upperBound)"
        case let range as PartialRangeFrom<Value>: "must be at least \(range.lowerBound)"
        case let range as PartialRangeThrough<Value>: "must be at most \(range.upperBound)"
        case let range as PartialRangeUpTo<Value>: "must be less than \(range.upperBound)"
        default: "is out of range"
        }
    }
}

/// The handling of values that break a rule.
public enum RulePolicy: Sendable {
    /// Stores the value. ``Model/violations`` then contains the rule, and the model cannot be saved.
    case keep
    /// Does not store the value. A setter ignores it; a merge throws and writes nothing.
    case reject
}

/// A rule that a property's value breaks.
public struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// The property's key; of a nested object its path, such as `author.name` or `lines[2].count`.
    public let key: String
    /// The rule's name. `type` for a value that the property's codec refuses, `unique` and `id` for an id that is taken
    /// or missing, `otherContext` for a nested model of another context.
    public let rule: String
    /// The reason to show next to the field: that of the rule or the codec.
    public let reason: String

    init(key: String, rule: String, reason: String? = nil) {
        self.key = key
        self.rule = rule
        self.reason = reason ?? "breaks the rule \(rule)"
    }

    public var description: String { "\(key) breaks the rule \(rule)" }
}
