public import Foundation

/// The body of a request.
// Indirect, because most requests have none, and all are copied.
public indirect enum RequestBody: Hashable, Sendable {
    /// Sent as `application/json`, in the form of RFC 8785.
    case json(JSONValue)
    /// JSON text, sent byte for byte as `application/json`, so that a signature over it holds. It identifies the request as
    /// ``json(_:)`` of its value does. Made by ``json(text:)``.
    case jsonText(JSONText)
    /// Sent as `application/x-www-form-urlencoded`.
    case form(Parameters)
    /// Bytes, sent as they are. `contentType` is the `Content-Type`, unless a header of the request says otherwise.
    case bytes(Data, contentType: String? = nil)
    /// A file, read in pieces each time it is sent, and once for the request's identity.
    ///
    /// The file must stay unchanged from the moment it is looked at, before its identity is read, until its last byte
    /// is sent. A file that only grew meanwhile, or was touched, fails with
    /// ``RequestError/Code-swift.struct/unreadableFile``. Of a file that is always written to, such as a log, send a
    /// copy.
    case file(URL, contentType: String? = nil)
    /// Sent as `multipart/form-data` (RFC 7578), in pieces, with another random boundary each time.
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

    /// Returns a body of JSON text, which is sent byte for byte. Text that two readers could read differently (a name
    /// twice, a number that no double holds) becomes ``bytes(_:contentType:)``, and identifies the request by its
    /// bytes.
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

    /// Returns a body of any value's JSON.
    ///
    /// - Throws: `EncodingError`, or ``RequestError/Code-swift.struct/ambiguousJSON`` for a number no double holds.
    public static func json(encoding value: some Encodable, using encoder: JSONEncoder = JSONEncoder()) throws
        -> RequestBody
    {
        .json(try JSONValue.read(try encoder.encode(value)))
    }

    /// The value of a JSON body that is known by its value.
    package var jsonValue: JSONValue? {
        switch self {
        case .json(let value): value
        case .jsonText(let json): json.value
        case .form, .bytes, .file, .multipart: nil
        }
    }

    /// Whether the content can change without a change of the body.
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

    /// Returns the bytes to send, of a body that is whole in memory.
    package func encoded(_ encoding: ParameterEncoding = .standard) throws(RequestError) -> Data {
        switch self {
        case .json(let value): Data(try value.written())
        case .jsonText(let json): Data(json.text.utf8)
        case .form(let parameters): Data(try parameters.items(encoding).bytes)
        case .bytes(let data, _): data
        case .file, .multipart:
            throw RequestError(.malformedRequest, "the body is not whole in memory: it is sent in segments")
        }
    }
}
