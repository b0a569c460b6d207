/// What is wrong with a JSON text, or with a value that has none.
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
    /// What is wrong and what to do, with line and column where there is a text.
    var message: String
}
