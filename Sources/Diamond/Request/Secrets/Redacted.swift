/// A value that may hold secrets. Its printed forms show its description, which holds none, and not its properties.
protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The members of the value that a debugger and `dump` show. By default, only the description.
    var shownMembers: KeyValuePairs<String, Any> { get }
}

extension Redacted {
    var shownMembers: KeyValuePairs<String, Any> { ["description": description] }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: shownMembers) }
}
