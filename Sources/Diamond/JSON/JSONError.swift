/// An error in a JSON text, or in a value that has no JSON text.
struct JSONError: Error, Hashable {
    enum Code {
        /// The text is not JSON (RFC 8259).
        case malformed
        /// Two readers could read it differently (RFC 7493).
        case ambiguous
        /// A number is not finite and cannot be written as JSON.
        case notFinite
    }

    let code: Code
    /// The mistake and the remedy, with line and column for an error in a text.
    let message: String
}
