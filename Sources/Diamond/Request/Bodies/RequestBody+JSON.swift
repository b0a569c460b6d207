import Foundation

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
