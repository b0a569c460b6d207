/// A condition that a property's value has to meet.
public struct Rule<Value>: Sendable {
    /// The name of the rule in violations and repairs.
    public let name: String
    let isMet: @Sendable (Value) -> Bool
    /// Whether the rule checks that the JSON had a value, instead of checking the value.
    let checksJSON: Bool

    /// Creates a custom rule.
    public init(_ name: String, isMet: @escaping @Sendable (Value) -> Bool) {
        self.name = name
        self.isMet = isMet
        checksJSON = false
    }

    private init(checkingJSON name: String) {
        self.name = name
        isMet = { _ in true }
        checksJSON = true
    }

    /// The JSON must have a value of the right type, or a value must have been set.
    public static var required: Rule { Rule(checkingJSON: "required") }
}

extension Rule where Value: Collection & SendableMetatype {
    /// The value must not be empty.
    public static var nonEmpty: Rule { Rule("nonEmpty") { !$0.isEmpty } }
}

extension Rule where Value: Numeric & SendableMetatype {
    /// The number must not be zero.
    public static var nonZero: Rule { Rule("nonZero") { $0 != .zero } }
}

extension Rule where Value == Bool {
    /// The value must be `true`.
    public static var isTrue: Rule { Rule("isTrue") { $0 } }
}

extension Rule where Value: Comparable & Sendable {
    /// The value must be within a range: `.range(0...)`.
    public static func range(_ range: some RangeExpression<Value> & Sendable) -> Rule {
        Rule("range") { range.contains($0) }
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
    /// The property's key.
    public let key: String
    /// The rule's name.
    public let rule: String

    public var description: String { "\(key) breaks the rule \(rule)" }
}
