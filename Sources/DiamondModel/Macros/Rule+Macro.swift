#if Macros
/// Gives a property of a class marked ``Modeled()`` rules of DiamondModel.
///
/// - Parameters:
///   - rules: the conditions that its values have to meet.
///   - policy: the handling of values that break a rule.
@attached(peer)
public macro Rule(_ rules: StandardRule..., policy: RulePolicy = .keep) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Gives a property of a class marked ``Modeled()`` rules of your own: `@Rule(.postalCode)` for a static member of
/// `Rule<String>`, or `@Rule(Rule<Int>("even") { $0.isMultiple(of: 2) })`.
///
/// - Parameters:
///   - rules: the conditions that its values have to meet.
///   - policy: the handling of values that break a rule.
@attached(peer)
public macro Rule<Value>(_ rules: Rule<Value>..., policy: RulePolicy = .keep) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// The rules of DiamondModel as `@Rule` is given them, where the type of the property is not known yet.
public struct StandardRule: Sendable {
    private init() {}

    /// ``Rule/required``.
    public static var required: StandardRule { StandardRule() }

    /// ``Rule/nonEmpty``.
    public static var nonEmpty: StandardRule { StandardRule() }

    /// ``Rule/nonZero``.
    public static var nonZero: StandardRule { StandardRule() }

    // Their types are known from the rule: without the attributes `@Rule(.isTrue)` would be ambiguous.

    /// ``Rule/isTrue``.
    @_disfavoredOverload
    public static var isTrue: StandardRule { StandardRule() }

    /// ``Rule/range(_:)``.
    ///
    /// - Parameter range: the values that are allowed.
    @_disfavoredOverload
    public static func range<Bound: Comparable>(_ range: some RangeExpression<Bound>) -> StandardRule { StandardRule() }
}
#endif
