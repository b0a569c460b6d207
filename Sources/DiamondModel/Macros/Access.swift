#if Macros
/// Leaves a property of a class marked ``Modeled()`` to the server: it has no setter, and merges set it.
@attached(peer)
public macro Server() = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Keeps a property of a class marked ``Modeled()`` out of the JSON. Its changes are noticed all the same.
@attached(peer)
public macro Transient() = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Lets a property of a class marked ``Modeled()`` be `nil`, which is `null` in JSON.
@attached(peer)
public macro Nullable() = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")
#endif
