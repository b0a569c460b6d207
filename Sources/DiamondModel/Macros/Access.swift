#if Macros
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
