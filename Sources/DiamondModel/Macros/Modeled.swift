#if Macros
/// Writes what a model class needs of each property: its constant, its storage, its accessors, and its line in
/// ``Model/visit(_:)``. Only with the package's trait `Macros`.
///
/// Every stored `var` is a property, and its default is the value that a new object has. A `let` with a ``ModelCollection``
/// is a nested collection. Members that are computed, static, lazy or weak are left as they are. A property's key is its
/// name, where no ``Key(_:or:)`` says otherwise.
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

/// Writes the constant, the storage and the accessors of a property. ``Modeled()`` attaches it.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: prefixed(_), overloaded)
public macro ModeledProperty() = #externalMacro(module: "DiamondMacros", type: "ModeledPropertyMacro")

/// Writes the constant of a nested collection. ``Modeled()`` attaches it.
@attached(peer, names: overloaded)
public macro ModeledCollection() = #externalMacro(module: "DiamondMacros", type: "ModeledCollectionMacro")
#endif
