/// A value that may hold secrets. Its printed forms show its description, which holds none, and not its properties.
protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    public var debugDescription: String { description }
}
