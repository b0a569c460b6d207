#if Macros
/// Generates the constant, the storage and the accessors of each property, and ``Model/visit(_:)``. Requires the package
/// trait `Macros`.
///
/// Every stored `var` is a property, and its initial value is the default. A `let` with a ``ModelCollection`` is a nested
/// collection. Computed, static, lazy and weak members are not changed. A property's key is its name, unless it has a
/// ``Key(_:or:)``.
///
/// ```swift
/// @Modeled final class Person: Model {
///     @Server var id = 0
///     @Rule(.nonEmpty) var name = ""
/// }
/// ```
@attached(member, names: named(visit(_:)))
@attached(memberAttribute)
public macro Modeled() = #externalMacro(module: "DiamondMacros", type: "ModeledMacro")

/// Generates the constant, the storage and the accessors of a property. Attached by ``Modeled()``.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: prefixed(_), overloaded)
public macro ModeledProperty() = #externalMacro(module: "DiamondMacros", type: "ModeledPropertyMacro")

/// Generates the constant of a nested collection. Attached by ``Modeled()``.
@attached(peer, names: overloaded)
public macro ModeledCollection() = #externalMacro(module: "DiamondMacros", type: "ModeledCollectionMacro")
#endif
