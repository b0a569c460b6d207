import HTTPTypes

extension CanonicalForm {
    /// Why the form of a request is what it is.
    package struct Explanation {
        /// A line of the form, and the rule that made it.
        package var lines: [(text: String, rule: String)] = []
        /// What of the request is in no line, and why.
        package var omissions: [(what: String, reason: String)] = []
    }

    package static func explanation(of request: Request, rules: KeyRules) throws(RequestError) -> Explanation {
        let wire = try WireRequest(request)
        let form = try CanonicalForm(of: wire, rules: rules)
        let lines = form.text.split(separator: "\n").map { line in
            (text: String(line), rule: rule(of: String(line.prefix { $0 != " " })))
        }
        return Explanation(lines: lines, omissions: omissions(wire, rules.adding(wire)))
    }

    private static func rule(of tag: String) -> String {
        switch tag {
        case "diamond": "the version of the form"
        case "identity": "the identity takes the place of credentials"
        case "cache-key": "the app's own key takes the place of all but credentials"
        case "method": "as sent; HEAD counts as GET"
        case "origin": "lower case, without the scheme's own port"
        case "path": "dot segments removed, escapes in one form"
        case "query": "an item of the query or a parameter, sorted by name"
        case "header": "a header that selects, sorted by name"
        case "credential": "a named secret: its place and its name"
        case "type": "the body's Content-Type"
        case "json": "a JSON body by RFC 8785"
        case "field": "an item of a form, sorted by name"
        case "part": "a part of a multipart body, in order: its facts, length and SHA-256"
        case "bytes": "length and SHA-256 of the body"
        default: "a credential: its digest, keyed with the store's secret"
        }
    }

    private static func omissions(_ request: WireRequest, _ rules: KeyRules) -> [(what: String, reason: String)] {
        omittedHeaders(request, rules) + omittedItems(request, rules)
    }

    private static func omittedHeaders(
        _ request: WireRequest,
        _ rules: KeyRules
    ) -> [(what: String, reason: String)] {
        request.headers.compactMap { field in
            let name = field.name.canonicalName
            let what = "header \(name)"
            if !rules.isSelecting(name) { return (what, "does not select among answers") }
            if request.identity != nil, rules.isReplaced(field.name) { return (what, "the identity stands for it") }
            if request.cacheKey != nil, !rules.isCredential(field.name) { return (what, "the cache key stands for it") }
            return nil
        }
    }

    private static func omittedItems(_ request: WireRequest, _ rules: KeyRules) -> [(what: String, reason: String)] {
        (request.url.queryItems + request.parameterItems).compactMap { item in
            let what = "parameter \(String(decoding: item.name, as: UTF8.self))"
            if rules.isIgnored(parameter: item.name) { return (what, "is ignored by the rules") }
            let isReplaced = item.value != nil && rules.isReplaced(parameter: item.name)
            if request.identity != nil, isReplaced { return (what, "the identity stands for it") }
            return nil
        }
    }
}
