import Foundation
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

extension RequestBody {
    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "the body")
        let contentType = try form.string("contentType")
        if let value = form.consume("json") {
            self = .json(value)
        } else if let text = try form.string("jsonText") {
            self = .jsonText(try JSONText(text, in: form))
        } else if let value = form.consume("form") {
            self = .form(try Parameters(written: value, key: "form"))
        } else if let data = try form.bytes() {
            self = .bytes(data, contentType: contentType)
        } else if let path = try form.string("file") {
            self = .file(URL(filePath: path), contentType: contentType)
        } else if let value = form.consume("multipart") {
            guard case .array(let parts) = value else { throw form.failure(at: "multipart", "is no array: write […]") }
            self = .multipart(try parts.map { part throws(RequestError) in try MultipartPart(written: part) })
        } else {
            throw RequestError(
                .malformedRequest,
                "the body has none of json, jsonText, form, multipart, text, base64 and file: give one")
        }
        if contentType != nil, self.isTyped {
            throw form.failure(at: "contentType", "goes with text, base64 and file only")
        }
        try form.finish()
    }

    private var isTyped: Bool {
        switch self {
        case .bytes, .file: false
        case .json, .jsonText, .form, .multipart: true
        }
    }

    var written: JSONValue {
        switch self {
        case .json(let value): return .object(["json": value])
        case .jsonText(let json): return .object(["jsonText": .string(json.text)])
        case .form(let parameters): return .object(["form": parameters.written])
        case .multipart(let parts): return .object(["multipart": .array(parts.map(\.written))])
        case .file(let url, let contentType):
            var members: [String: JSONValue] = ["file": .string(url.path)]
            if let contentType { members["contentType"] = .string(contentType) }
            return .object(members)
        case .bytes(let data, let contentType):
            var members = data.written
            if let contentType { members["contentType"] = .string(contentType) }
            return .object(members)
        }
    }
}

extension Data {
    /// The written form of bytes in a body: `text` if they are UTF-8, else `base64`.
    var written: [String: JSONValue] {
        String(validating: self, as: UTF8.self).map { ["text": .string($0)] } ?? [
            "base64": .string(base64EncodedString())
        ]
    }
}

extension Date {
    /// The seconds since 1970, with millisecond precision.
    var written: JSONValue { .number((timeIntervalSince1970 * 1000).rounded() / 1000) }
}
