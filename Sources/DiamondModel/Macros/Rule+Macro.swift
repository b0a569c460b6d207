#if Macros
/// Adds standard rules to a property of a ``Modeled()`` class.
///
/// - Parameters:
///   - rules: The conditions for its values.
///   - policy: The handling of values that break a rule.
@attached(peer)
public macro Rule(_ rules: StandardRule..., policy: RulePolicy = .keep) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Adds custom rules to a property of a ``Modeled()`` class: `@Rule(.postalCode)` for a static member of
/// `Rule<String>`, or `@Rule(Rule<Int>("even") { $0.isMultiple(of: 2) })`.
///
/// - Parameters:
///   - rules: The conditions for its values.
///   - policy: The handling of values that break a rule.
@attached(peer)
public macro Rule<Value>(_ rules: Rule<Value>..., policy: RulePolicy = .keep) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// The standard rules as arguments of `@Rule`, which does not know the type of the property.
public struct StandardRule: Sendable {
    private init() {}

    /// ``Rule/required``.
    public static var required: StandardRule { StandardRule() }

    /// ``Rule/nonEmpty``.
    public static var nonEmpty: StandardRule { StandardRule() }

    /// ``Rule/nonZero``.
    public static var nonZero: StandardRule { StandardRule() }

    // The attributes prefer the overloads of `Rule`, which have a type. Without them `@Rule(.isTrue)` would be
    // ambiguous.

    /// ``Rule/isTrue``.
    @_disfavoredOverload
    public static var isTrue: StandardRule { StandardRule() }

    /// ``Rule/range(_:)``.
    ///
    /// - Parameter range: The allowed values.
    @_disfavoredOverload
    public static func range<Bound: Comparable>(_ range: some RangeExpression<Bound>) -> StandardRule { StandardRule() }
}
#endif
