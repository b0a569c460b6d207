/// An error in a JSON text, or in a value that has no JSON text.
package struct JSONError: Error, Hashable {
    package enum Code: Sendable {
        /// The text is not JSON (RFC 8259).
        case malformed
        /// Two readers could read it differently (RFC 7493).
        case ambiguous
        /// A number is not finite and cannot be written as JSON.
        case notFinite
        /// A value is nested too deeply to be written as JSON.
        case tooDeep
    }

    package let code: Code
    /// The mistake and the remedy, with line and column for an error in a text.
    package let message: String
    /// The number of bytes before the mistake in a text.
    package let offset: Int?

    /// Creates an error for a value that has no JSON text.
    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        offset = nil
    }

    /// Creates an error in a text.
    init(_ code: Code, _ message: String, at offset: Int, in text: UnsafeRawBufferPointer) {
        let before = text.prefix(offset)
        let line = before.count { $0 == 0x0A } + 1
        let column = offset - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        self.code = code
        self.message = "line \(line), column \(column): \(message)"
        self.offset = Swift.min(offset, text.count)
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String { message }
}
