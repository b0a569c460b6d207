/// What went wrong, as RFC 9457 tells it: https://www.rfc-editor.org/rfc/rfc9457.html
struct Problem: Error, Sendable {
    var code: Int
    var detail: String
    /// The parameter, path component or member of the body that is to blame.
    var parameter: String?
    /// Seconds.
    var retryAfter: Int?

    static func invalid(_ parameter: String, _ reason: String) -> Problem {
        Problem(code: 400, detail: "\(parameter) \(reason)", parameter: parameter)
    }

    static func notFound(_ what: String) -> Problem {
        Problem(code: 404, detail: "There is no \(what).")
    }
}
