import Foundation

/// A local id stands for the id of an object that no server has created yet: `local:` and a UUID. It occurs nowhere
/// else, so that it is found by its text.
enum LocalID {
    /// Returns the local ids in a URL, also encoded ones.
    static func all(inURL url: String) -> Set<String> {
        guard url.contains("local") else { return [] }
        return Set(
            url.matches(of: /local(?::|%3[Aa])([0-9A-Fa-f-]{36})/).compactMap { UUID(uuidString: String($0.1)) }
                .map { "local:\($0.uuidString)" })
    }

    /// Whether a text is a local id.
    static func isOne(_ text: String) -> Bool {
        text.utf8.count == 42 && text.hasPrefix("local:") && UUID(uuidString: String(text.dropFirst(6))) != nil
    }
}

extension String {
    /// Returns a URL with ids in place of local ids.
    package func replacing(inURL ids: [String: JSONValue]) -> String {
        ids.reduce(self) { url, entry in
            let digits = entry.key.dropFirst("local:".count)
            let id = entry.value.idText.urlSegment
            return ["local:", "local%3A", "local%3a"].reduce(url) { $0.replacing($1 + digits, with: id) }
        }
    }
}

extension JSONValue {
    /// The text of an id, which is a number or a text.
    fileprivate var idText: String { if case .string(let text) = self { text } else { integerText ?? "" } }

    /// The texts in the value that are local ids.
    package var localIDs: Set<String> {
        switch self {
        case .string(let text): LocalID.isOne(text) ? [text] : []
        case .array(let elements): elements.reduce(into: []) { $0.formUnion($1.localIDs) }
        case .object(let members): members.values.reduce(into: []) { $0.formUnion($1.localIDs) }
        default: []
        }
    }

    /// Returns the value with ids in place of the texts that are local ids.
    package func replacing(_ ids: [String: JSONValue]) -> JSONValue {
        switch self {
        case .string(let text): ids[text] ?? self
        case .array(let elements): .array(elements.map { $0.replacing(ids) })
        case .object(let members): .object(members.mapValues { $0.replacing(ids) })
        default: self
        }
    }
}

extension Request {
    /// The local ids in the URL, and the values of parameters, forms and JSON that are local ids.
    package var localIDs: Set<String> {
        parameters.reduce(into: LocalID.all(inURL: url).union(body?.localIDs ?? [])) { $0.formUnion($1.value.localIDs) }
    }

    /// Returns the request with the server's ids in place of local ids, also in its metadata.
    ///
    /// - Parameter ids: The ids by local id.
    package func replacing(_ ids: [String: JSONValue]) -> Request {
        if ids.isEmpty { return self }
        var request = self
        request.url = url.replacing(inURL: ids)
        request.parameters = parameters.replacing(ids)
        request.body = body?.replacing(ids)
        request.replay.awaits.subtract(ids.keys)
        request.replay.metadata = replay.metadata.mapValues { value -> JSONValue in
            if case .string(let text) = value { .string(text.replacing(inURL: ids)) } else { value.replacing(ids) }
        }
        // The local id of the object itself stays, so that its program finds it.
        if case .string(let own)? = replay.metadata["localID"] {
            request.replay.metadata["localID"] = .string(own)
            if let id = ids[own] { request.replay.metadata["id"] = id }
        }
        return request
    }
}

extension Parameters {
    fileprivate func replacing(_ ids: [String: JSONValue]) -> Parameters {
        Parameters(map { Element($0.name, $0.value.replacing(ids)) })
    }
}

extension RequestBody {
    fileprivate var localIDs: Set<String> {
        if case .form(let fields) = self { return fields.reduce(into: []) { $0.formUnion($1.value.localIDs) } }
        return jsonValue?.localIDs ?? []
    }

    fileprivate func replacing(_ ids: [String: JSONValue]) -> RequestBody {
        if case .form(let fields) = self { return .form(fields.replacing(ids)) }
        guard let json = jsonValue, !json.localIDs.isDisjoint(with: ids.keys) else { return self }
        return .json(json.replacing(ids))
    }
}
