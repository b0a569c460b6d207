public import Foundation

/// The body of a request.
// Indirect, because most requests have no body and all requests are copied.
public indirect enum RequestBody: Hashable, Sendable {
    /// A JSON value, sent as `application/json` in canonical form (RFC 8785).
    case json(JSONValue)
    /// JSON text, sent byte for byte as `application/json`, so that a signature over it stays valid. The request's key
    /// is that of `json(_:)` with the same value. Create it with ``json(text:)``.
    case jsonText(JSONText)
    /// A form, sent as `application/x-www-form-urlencoded`.
    case form(Parameters)
    /// Bytes, sent as they are. `contentType` sets `Content-Type` unless the request's headers do.
    case bytes(Data, contentType: String? = nil)
    /// A file, read in pieces each time it is sent, and once for the request's key.
    ///
    /// The file must stay unchanged from the computation of the key until its last byte is sent. A file with another
    /// size or modification time fails with ``RequestError/Code-swift.struct/unreadableFile``. Of a file that is always
    /// written to, such as a log, send a copy.
    case file(URL, contentType: String? = nil)
    /// The parts of a `multipart/form-data` body (RFC 7578), sent in pieces with a new random boundary each time.
    case multipart([MultipartPart])

    /// Texts compare by their bytes.
    public static func == (one: RequestBody, other: RequestBody) -> Bool {
        switch (one, other) {
        case (.json(let one), .json(let other)): one == other
        case (.jsonText(let one), .jsonText(let other)): one == other
        case (.form(let one), .form(let other)): one == other
        case (.bytes(let one, let type), .bytes(let other, let otherType)): one == other && type.isExactly(otherType)
        case (.file(let one, let type), .file(let other, let otherType)):
            one.absoluteString.isExactly(other.absoluteString) && type.isExactly(otherType)
        case (.multipart(let one), .multipart(let other)): one == other
        default: false
        }
    }

    /// Hashes equal bodies alike: a file by its absolute URL.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .json(let value): hasher.combine(value)
        case .jsonText(let json): hasher.combine(json)
        case .form(let parameters): hasher.combine(parameters)
        case .bytes(let data, let type):
            hasher.combine(data)
            hasher.combine(type)
        case .file(let url, let type):
            hasher.combine(url.absoluteString)
            hasher.combine(type)
        case .multipart(let parts): hasher.combine(parts)
        }
    }

    /// Returns a body of JSON text, which is sent byte for byte. Text that two readers could read differently (a
    /// repeated name, a number that no double holds) becomes ``bytes(_:contentType:)``, and its bytes determine the
    /// request's key.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/malformedJSON`` with line and column.
    public static func json(text: String) throws(RequestError) -> RequestBody {
        do {
            return .jsonText(try JSONText(text))
        } catch  where error.code == .ambiguousJSON {
            return .bytes(Data(text.utf8), contentType: "application/json")
        } catch {
            throw error
        }
    }

    /// Returns a body with the JSON of an encodable value.
    ///
    /// `encode(to:)` of a type may run twice, if only `JSONEncoder` itself can encode it.
    ///
    /// - Throws: `EncodingError`, or ``RequestError/Code-swift.struct/ambiguousJSON`` for a number no double holds.
    public static func json(encoding value: some Encodable, using encoder: JSONEncoder = JSONEncoder()) throws
        -> RequestBody
    {
        do { return .json(try JSONValue(encoding: value, using: encoder)) } catch let error as JSONError {
            throw RequestError(error)
        }
    }

    /// The value of a `json(_:)` or ``jsonText(_:)`` body.
    package var jsonValue: JSONValue? {
        switch self {
        case .json(let value): value
        case .jsonText(let json): json.value
        case .form, .bytes, .file, .multipart: nil
        }
    }

    /// Whether the body reads files, whose content can change while the value stays equal.
    var readsFiles: Bool { !files.isEmpty }

    /// The files that are read when the body is sent, in order.
    var files: [URL] {
        switch self {
        case .json, .jsonText, .form, .bytes: []
        case .file(let url, _): [url]
        case .multipart(let parts): parts.compactMap { if case .file(let url) = $0.content { url } else { nil } }
        }
    }

    var contentType: String? {
        switch self {
        case .json, .jsonText: "application/json"
        case .form: "application/x-www-form-urlencoded"
        case .bytes(_, let contentType), .file(_, let contentType): contentType
        case .multipart: "multipart/form-data"
        }
    }

    /// Returns the bytes of a body that is held in memory.
    package func encoded(_ encoding: ParameterEncoding = .standard) throws(RequestError) -> Data {
        switch self {
        case .json(let value): Data(try value.written())
        case .jsonText(let json): Data(json.text.utf8)
        case .form(let parameters): Data(try parameters.items(encoding).bytes)
        case .bytes(let data, _): data
        case .file, .multipart:
            throw RequestError(.malformedRequest, "the body is not in memory: it is sent in segments")
        }
    }
}

// Contents may be secret: a token, a password.
extension RequestBody: Redacted {
    /// The kind and the names in it, such as `3 bytes of text/plain` and `form of name, city`; nothing of its content.
    public var description: String {
        switch self {
        case .json, .jsonText: "JSON"
        case .form(let parameters): "form of \(parameters)"
        case .bytes(let data, let type): "\(data.count) bytes" + (type.map { " of \($0)" } ?? "")
        case .file(let file, _): "the file \(file.path)"
        case .multipart(let parts): "multipart of \(parts.map(\.name).joined(separator: ", "))"
        }
    }
}
