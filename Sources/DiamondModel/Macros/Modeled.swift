#if Macros
/// Generates the constant, the storage and the accessors of each property, and ``Model/visit(_:)``. Requires the
/// package trait `Macros`.
///
/// Every stored `var` is a property, and its initial value is the default. A `let` with a ``ModelCollection`` is a
/// nested collection. Computed, static, lazy and weak members are not changed. A property's key is its name, unless it
/// has a ``Key(_:or:)``.
///
/// The constant of a property has its written type, or the type that the initial value names: a literal, a call of an
/// initializer, a cast, or a static member (`Kind.movie`), which counts as a value of the type before it. Write the
/// type of other properties.
///
/// In a project that is isolated to the main actor by default, the class is declared `nonisolated`. Otherwise the
/// compiler reports a call of `declareThisClassNonisolated()`.
///
/// ```swift
/// @Modeled final class Person: Model {
///     @Server var id = 0
///     @Rule(.nonEmpty) var name = ""
/// }
/// ```
@attached(
    member, names: named(visit(_:)), named(declareThisClassNonisolated), named(checkIsolation))
@attached(memberAttribute)
public macro Modeled() = #externalMacro(module: "DiamondMacros", type: "ModeledMacro")

/// Generates the constant, the storage and the accessors of a property. Attached by ``Modeled()``.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: prefixed(_), overloaded)
public macro ModeledProperty() = #externalMacro(module: "DiamondMacros", type: "ModeledPropertyMacro")

/// Generates the constant of a nested collection. Attached by ``Modeled()``.
@attached(peer, names: overloaded)
public macro ModeledCollection() = #externalMacro(module: "DiamondMacros", type: "ModeledCollectionMacro")

/// Marks a property of a ``Modeled()`` class as set by the server only: it has no setter, and merges set it.
@attached(peer)
public macro Server() = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Excludes a property of a ``Modeled()`` class from the JSON. Its changes are still observed.
@attached(peer)
public macro Transient() = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Allows a property of a ``Modeled()`` class to be `nil`, written as `null` in JSON.
@attached(peer)
public macro Nullable() = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")
#endif
