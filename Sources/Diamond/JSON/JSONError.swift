/// An error in a JSON text, or in a value that has no JSON text.
struct JSONError: Error, Hashable {
    enum Code {
        /// The text is not JSON (RFC 8259).
        case malformed
        /// Two readers could read it differently (RFC 7493).
        case ambiguous
        /// A number is not finite, and so has no JSON.
        case notFinite
    }

    var code: Code
    /// The mistake and the remedy, with line and column where there is a text.
    var message: String
}
