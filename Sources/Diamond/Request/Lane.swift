/// A named limit of how many exchanges are on the wire at the same time.
///
/// ```swift
/// extension Lane {
///     static let images = Lane("images")
/// }
/// ```
///
/// The engine's configuration sets the limits of its lanes. A lane that it does not name has the engine's width.
public struct Lane: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name of the lane. Two lanes with the same name, to the byte, are one.
    public let name: String

    /// Creates a lane with any name; an engine need not know it.
    public init(_ name: String) { self.name = name }

    public init(stringLiteral name: String) { self.init(name) }

    /// The lane of every request that names none.
    public static let `default` = Lane("default")

    public var description: String { name }

    public static func == (one: Lane, other: Lane) -> Bool { one.name.isExactly(other.name) }
}
