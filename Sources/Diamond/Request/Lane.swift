/// A named limit for the number of simultaneous exchanges.
///
/// ```swift
/// extension Lane {
///     static let images = Lane("images")
/// }
/// ```
///
/// The engine's configuration sets the width of each lane. A lane that it does not name has the engine's default width.
public struct Lane: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name of the lane. Names are compared byte by byte.
    public let name: String

    /// Creates a lane. The engine need not know its name.
    public init(_ name: String) { self.name = name }

    public init(stringLiteral name: String) { self.init(name) }

    /// The lane of requests that name none.
    public static let `default` = Lane("default")

    public var description: String { name }

    public static func == (one: Lane, other: Lane) -> Bool { one.name.isExactly(other.name) }
}
