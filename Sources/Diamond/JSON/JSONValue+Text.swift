extension JSONValue {
    /// Creates a value from a JSON text, for this package's other targets.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - isolatesFaults: Whether the innermost object that two readers could read differently, or that is nested too
    ///     deeply, is kept as text with its ``fault``. Without it, the whole text is refused.
    /// - Throws: an error whose description names the mistake, with line and column.
    package init(reading text: some Sequence<UInt8>, isolatesFaults: Bool = false) throws {
        self = try JSONReader.value(of: Array(text), isolatesFaults: isolatesFaults)
    }

    /// Returns the JSON text in canonical form (RFC 8785), for this package's other targets.
    ///
    /// - Throws: an error whose description names the number that is not finite.
    package func writtenText() throws -> [UInt8] { try JSONWriter.text(of: self) }

    /// The kind of the value, for messages of this package's other targets.
    package var kindName: String { kind }
}

extension JSONError: CustomStringConvertible {
    var description: String { message }
}
