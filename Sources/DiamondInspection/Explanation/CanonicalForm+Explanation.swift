package import Diamond

extension CanonicalForm {
    /// An explanation of the canonical form of a request.
    package struct Explanation {
        /// A line of the form, and the rule that made it.
        package struct Line {
            package let text: String
            package let rule: String
        }

        /// A part of the request that is in no line, and the reason.
        package struct Omission {
            package let part: String
            package let reason: String
        }

        /// The lines of the form, in order.
        package var lines: [Line] = []
        /// The parts of the request that are in no line.
        package var omissions: [Omission] = []
    }

    /// Returns an explanation of the canonical form of a request.
    package static func explanation(of request: Request, rules: KeyRules) throws(RequestError) -> Explanation {
        let wire = try WireRequest(request)
        let form = try CanonicalForm(of: wire, rules: rules)
        // Split by bytes: a space and an accent after it are one `Character`.
        let lines = form.bytes.split(separator: UInt8(ascii: "\n")).map { line in
            let tag = line.prefix { $0 != UInt8(ascii: " ") }
            return Explanation.Line(
                text: String(decoding: line, as: UTF8.self),
                rule: rule(of: String(decoding: tag, as: UTF8.self)))
        }
        return Explanation(lines: lines, omissions: try KeyExplanation(of: wire, rules: rules).all)
    }

    private static func rule(of tag: String) -> String {
        switch tag {
        case "diamond": "the version of the form"
        case "identity": "the identity replaces credentials"
        case "cache-key": "the app's own key replaces everything but credentials"
        case "method": "as sent; HEAD counts as GET"
        case "origin": "lower case, without the scheme's own port"
        case "path": "dot segments removed, escapes in one form"
        case "query": "an item of the query or a parameter, sorted by name"
        case "header": "a header that selects the response, sorted by name"
        case "credential": "a named secret: its place and its name"
        case "type": "the body's Content-Type"
        case "json": "a JSON body by RFC 8785"
        case "field": "an item of a form, sorted by name"
        case "part": "a part of a multipart body, in order: its properties, length and SHA-256"
        case "bytes": "length and SHA-256 of the body"
        default: "a credential: its digest, keyed with the store's secret"
        }
    }
}
