import Diamond
import HTTPTypes

/// A finder of the parts of a request that are in no line of its canonical form.
struct KeyExplanation {
    typealias Omission = CanonicalForm.Explanation.Omission

    private let request: WireRequest
    private let rules: KeyRules

    private static let ignored = "is ignored by the rules"
    private static let replaced = "the identity replaces it"
    private static let keyed = "the cache key replaces it"

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
            let part = "header \(name)"
            if !rules.isSelecting(name) { return Omission(part: part, reason: "does not select a response") }
            if request.identity != nil, rules.isReplaced(field.name) {
                return Omission(part: part, reason: Self.replaced)
            }
            if request.cacheKey != nil, !rules.isCredential(field.name) {
                return Omission(part: part, reason: Self.keyed)
            }
            return nil
        }
    }

    private var parameters: [Omission] {
        let filled = request.identity == nil ? [] : request.filledItems.items
        return omissions(of: request.items, kind: "parameter")
            + filled.map {
                Omission(part: "parameter \(String(decoding: $0.name, as: UTF8.self))", reason: Self.replaced)
            }
    }

    private var body: [Omission] {
        get throws(RequestError) {
            switch request.body {
            case nil: []
            case .json(let value): members(of: value)
            case .jsonText(let json): members(of: json.value)
            case .form(let parameters): omissions(of: try parameters.items(request.encoding), kind: "field")
            case .multipart(let parts): parts.compactMap(omission)
            case .bytes, .file: request.cacheKey == nil ? [] : [Omission(part: "body", reason: Self.keyed)]
            }
        }
    }

    private func omissions(of items: QueryItems, kind: String) -> [Omission] {
        items.items.compactMap { item in
            reason(item.name.span, hasValue: item.hasValue, isSecret: rules.isSecret(item)).map {
                Omission(part: "\(kind) \(String(decoding: item.name, as: UTF8.self))", reason: $0)
            }
        }
    }

    private func omission(of part: MultipartPart) -> Omission? {
        let name = PercentEncoding.encode(part.name.utf8)
        return reason(name.span, hasValue: true, isSecret: rules.isSecret(parameter: name.span)).map {
            Omission(part: "part \(String(decoding: name, as: UTF8.self))", reason: $0)
        }
    }

    /// Returns the reason to omit an item; `nil` if it is not omitted.
    ///
    /// - Parameter name: the percent-encoded name.
    private func reason(_ name: Span<UInt8>, hasValue: Bool, isSecret: Bool) -> String? {
        if rules.isIgnored(parameter: name) { return Self.ignored }
        if request.identity != nil, hasValue, rules.isReplaced(parameter: name) { return Self.replaced }
        return request.cacheKey != nil && !isSecret ? Self.keyed : nil
    }

    private func members(of value: JSONValue) -> [Omission] {
        let own = rules.own
        let ignoring = IdentityRules(ignoring: own.ignoring)
        let secrets = IdentityRules(secrets: request.identity == nil ? [] : own.secrets)
        let rest = value.removing(ignoring)
        var omissions = value.names.filter(ignoring.isIgnored).map {
            Omission(part: Self.member([$0]), reason: Self.ignored)
        }
        omissions += rest.secretPaths(secrets).map { Omission(part: Self.member($0), reason: Self.replaced) }
        let isKeyed = request.cacheKey != nil && !rest.removing(secrets).hasSecretMember(rules)
        return isKeyed ? omissions + [Omission(part: "body", reason: Self.keyed)] : omissions
    }

    private static func member(_ path: [String]) -> String { "member \(path.joined(separator: "."))".printable }
}

extension JSONValue {
    /// The names of an object's members, sorted.
    fileprivate var names: [String] {
        guard case .object(let members) = self else { return [] }
        return members.keys.sorted()
    }

    /// Returns the paths of the members, at any depth, that are listed as secrets. Elements of an array have one path.
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
