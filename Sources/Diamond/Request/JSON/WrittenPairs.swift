import HTTPTypes

/// Reads pairs `[name, value]` in order, or the members of an object sorted by name.
private func pairs(_ value: JSONValue, key: String) throws(RequestError) -> [(name: String, value: JSONValue)] {
    switch value {
    case .object(let members): return members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    case .array(let elements):
        var pairs: [(name: String, value: JSONValue)] = []
        for element in elements {
            guard case .array(let pair) = element, pair.count == 2, case .string(let name) = pair[0] else {
                throw RequestError(
                    .malformedRequest, "key \"\(key)\" holds a value that is not a pair: write [\"name\", value]")
            }
            pairs.append((name, pair[1]))
        }
        return pairs
    default:
        throw RequestError(.malformedRequest, "key \"\(key)\" is \(value.kind): write an object, or pairs in an array")
    }
}

extension Parameters {
    init(written: JSONValue, key: String) throws(RequestError) {
        self.init(try pairs(written, key: key).map { Element($0.name, $0.value) })
    }

    var written: JSONValue { .array(map { .array([.string($0.name), $0.value]) }) }
}

extension HTTPFields {
    init(written: JSONValue, key: String) throws(RequestError) {
        self.init()
        let pairs = try pairs(written, key: key)
        guard pairs.count <= 10_000 else {
            throw RequestError(.malformedHeader, "key \"\(key)\" holds more than 10,000 headers: send fewer")
        }
        for pair in pairs { append(try HTTPField(name: pair.name, value: pair.value)) }
    }

    var written: JSONValue { .array(map { .array([.string($0.name.rawName), .string($0.value)]) }) }
}

extension HTTPField {
    fileprivate init(name: String, value: JSONValue) throws(RequestError) {
        guard case .string(let text) = value else {
            throw RequestError(.malformedHeader, "the header '\(name)' is \(value.kind): write text")
        }
        try self.init(checking: name, text)
    }

    /// Creates a header from user input.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/malformedHeader`` for an invalid name or value. Neither is repaired
    ///   silently.
    package init(checking name: String, _ value: String) throws(RequestError) {
        guard let fieldName = HTTPField.Name(name) else {
            throw RequestError(
                .malformedHeader,
                "a header's name is empty, or has a character that is not allowed: use letters, digits and '-'")
        }
        try Self.check(value, of: name)
        self.init(name: fieldName, value: value)
    }

    /// Refuses an invalid header value, which `init(name:lenientValue:)` accepts.
    static func check(_ value: String, of name: String) throws(RequestError) {
        guard HTTPField.isValidValue(value) else {
            let wrong = "a line break, another control character, or white space at an end"
            throw RequestError(.malformedHeader, "the value of the header \(name) has \(wrong): remove it")
        }
    }
}
