#if Macros
/// Gives a property of a class marked ``Modeled()`` another key than its name.
///
/// - Parameters:
///   - key: the key that is written, and read first.
///   - alternatives: the keys that are read when `key` has no value.
@attached(peer)
public macro Key(_ key: PropertyKey, or alternatives: PropertyKey...) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Gives a property of a class marked ``Modeled()`` further keys, which are read when its name has no value.
///
/// - Parameter alternatives: the further keys.
@attached(peer)
public macro Key(or alternatives: PropertyKey...) = #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Gives a property of a class marked ``Modeled()`` another key than its name, and a codec.
///
/// - Parameters:
///   - key: the key that is written, and read first.
///   - alternatives: the keys that are read when `key` has no value.
///   - codec: the conversion of the values.
@attached(peer)
public macro Key<Value>(_ key: PropertyKey, or alternatives: PropertyKey..., codec: Codec<Value>) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")

/// Gives a property of a class marked ``Modeled()`` a codec.
///
/// - Parameters:
///   - alternatives: the keys that are read when the property's name has no value.
///   - codec: the conversion of the values.
@attached(peer)
public macro Key<Value>(or alternatives: PropertyKey..., codec: Codec<Value>) =
    #externalMacro(module: "DiamondMacros", type: "MarkerMacro")
#endif
