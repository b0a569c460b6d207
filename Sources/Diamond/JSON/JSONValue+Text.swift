extension JSONValue {
    /// Returns the JSON text in canonical form (RFC 8785), for this package's other targets.
    ///
    /// - Throws: an error whose description names the number that is not finite.
    package func writtenText() throws -> [UInt8] { try JSONWriter.text(of: self) }

    /// The kind of the value, for messages of this package's other targets.
    package var kindName: String { kind }
}
