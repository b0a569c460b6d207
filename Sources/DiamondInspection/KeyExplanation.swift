import Diamond
import HTTPTypes

/// The parts of a request that are in no line of its canonical form.
struct KeyExplanation {
    typealias Omission = CanonicalForm.Explanation.Omission

    private let request: WireRequest
    private let rules: KeyRules

    private static let isIgnored = "is ignored by the rules"
    private static let isReplaced = "the identity stands for it"
    private static let isKeyed = "the cache key stands for it"

    init(of request: WireRequest, rules: KeyRules) {
        self.request = request
        self.rules = rules.adding(request)
    }

    var all: [Omission] {
        get throws(RequestError) { headers + parameters + (try body) }
    }

    private var headers: [Omission] {
        request.headers.compactMap { field in
            let name = field.name.canonicalName
            let what = "header \(name)"
            if !rules.isSelecting(name) { return (what, "does not select among answers") }
            if request.identity != nil, rules.isReplaced(field.name) { return (what, Self.isReplaced) }
            if request.cacheKey != nil, !rules.isCredential(field.name) { return (what, Self.isKeyed) }
            return nil
        }
    }

    private var parameters: [Omission] {
        let filled = request.identity == nil ? [] : request.filledItems.items
        return omissions(of: request.items, "parameter")
            + filled.map { ("parameter \(String(decoding: $0.name, as: UTF8.self))", Self.isReplaced) }
    }

    private var body: [Omission] {
        get throws(RequestError) {
            switch request.body {
            case nil: []
            case .json(let value): members(of: value)
            case .jsonText(let json): members(of: json.value)
            case .form(let parameters): omissions(of: try parameters.items(request.encoding), "field")
            case .multipart(let parts): parts.compactMap(omission)
            case .bytes, .file: request.cacheKey == nil ? [] : [("body", Self.isKeyed)]
            }
        }
    }

    private func omissions(of items: QueryItems, _ kind: String) -> [Omission] {
        items.items.compactMap { item in
            reason(item.name.span, hasValue: item.hasValue, isSecret: rules.isSecret(item)).map {
                ("\(kind) \(String(decoding: item.name, as: UTF8.self))", $0)
            }
        }
    }

    private func omission(of part: MultipartPart) -> Omission? {
        let name = PercentEncoding.encode(part.name.utf8)
        return reason(name.span, hasValue: true, isSecret: rules.isSecret(parameter: name.span)).map {
            ("part \(String(decoding: name, as: UTF8.self))", $0)
        }
    }

    /// - Parameter name: percent-encoded.
    private func reason(_ name: Span<UInt8>, hasValue: Bool, isSecret: Bool) -> String? {
        if rules.isIgnored(parameter: name) { return Self.isIgnored }
        if request.identity != nil, hasValue, rules.isReplaced(parameter: name) { return Self.isReplaced }
        return request.cacheKey != nil && !isSecret ? Self.isKeyed : nil
    }

    private func members(of value: JSONValue) -> [Omission] {
        let own = rules.own
        let ignoring = IdentityRules(ignoring: own.ignoring)
        let secrets = IdentityRules(secrets: request.identity == nil ? [] : own.secrets)
        let rest = value.removing(ignoring)
        var omissions = value.names.filter(ignoring.isIgnored).map { (Self.member([$0]), Self.isIgnored) }
        omissions += rest.secretPaths(secrets).map { (Self.member($0), Self.isReplaced) }
        let isKeyed = request.cacheKey != nil && !rest.removing(secrets).hasSecretMember(rules)
        return isKeyed ? omissions + [("body", Self.isKeyed)] : omissions
    }

    private static func member(_ path: [String]) -> String { "member \(path.joined(separator: "."))".printable }
}

extension JSONValue {
    /// The names of an object's members, sorted.
    fileprivate var names: [String] {
        guard case .object(let members) = self else { return [] }
        return members.keys.sorted()
    }

    /// The way to each member, at any depth, that is listed as a secret, once for all elements of an array.
    fileprivate func secretPaths(_ rules: IdentityRules) -> [[String]] {
        switch self {
        case .array(let values):
            var known: Set<[String]> = []
            return values.flatMap { $0.secretPaths(rules) }.filter { known.insert($0).inserted }
        case .object(let members):
            return names.flatMap { name -> [[String]] in
                guard !rules.isSecret(name) else { return [[name]] }
                return members[name]?.secretPaths(rules).map { [name] + $0 } ?? []
            }
        default: return []
        }
    }
}
