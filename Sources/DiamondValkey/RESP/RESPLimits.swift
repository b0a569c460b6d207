#if Valkey
/// The limits of what a server may send: a damaged or malicious one cannot make the client take more memory.
package struct RESPLimits: Sendable, Hashable {
    /// The most bytes of a line: a simple string, a number or a length.
    package var line = 64 << 10
    /// The most bytes of a reply, with its attributes.
    package var bytes = 64 << 20
    /// The most values in one reply, with those of its attributes.
    package var items = 1 << 20
    /// The most values around another one.
    package var depth = 16

    package init() {}
}
#endif
