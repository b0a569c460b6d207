#if Macros
/// Sets the key of a property of a ``Modeled()`` class. The default is its name.
///
/// - Parameters:
///   - key: The key to write, and to read first.
///   - alternatives: The keys to read if `key` has no value.
@attached(peer)
public macro Key(_ key: PropertyKey, or alternatives: PropertyKey...) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Adds keys to a property of a ``Modeled()`` class. They are read if its name has no value.
///
/// - Parameter alternatives: The additional keys.
@attached(peer)
public macro Key(or alternatives: PropertyKey...) = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Sets the key and the codec of a property of a ``Modeled()`` class.
///
/// - Parameters:
///   - key: The key to write, and to read first.
///   - alternatives: The keys to read if `key` has no value.
///   - codec: The conversion of the values.
@attached(peer)
public macro Key<Value>(_ key: PropertyKey, or alternatives: PropertyKey..., codec: Codec<Value>) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Sets the codec of a property of a ``Modeled()`` class.
///
/// - Parameters:
///   - alternatives: The keys to read if the property's name has no value.
///   - codec: The conversion of the values.
@attached(peer)
public macro Key<Value>(or alternatives: PropertyKey..., codec: Codec<Value>) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")
#endif
