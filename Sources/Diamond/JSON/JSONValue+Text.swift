extension JSONValue {
    /// The kind of the value, for messages of this package's other targets.
    package var kindName: String { kind }
}
