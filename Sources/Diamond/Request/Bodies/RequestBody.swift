public import Foundation

/// What a request carries in its body.
// Indirect, because most requests have none, and all are copied.
public indirect enum RequestBody: Hashable, Sendable {
    /// Sent as `application/json`, in the form of RFC 8785.
    case json(JSONValue)
    /// Sent as `application/x-www-form-urlencoded`.
    case form(Parameters)
    /// Sent as they are; `contentType` is the `Content-Type`, where no header of the request says otherwise.
    case bytes(Data, contentType: String? = nil)
    /// A file, read in pieces each time it is sent, and once for the request's identity.
    ///
    /// It must stand still from when it is looked at, before its identity is read, until its last byte is sent. One that
    /// only grew meanwhile, or was touched, fails with ``RequestError/Code-swift.struct/unreadableFile``: of a file that
    /// is always written to, such as a log, send a copy.
    case file(URL, contentType: String? = nil)
    /// Sent as `multipart/form-data` (RFC 7578), in pieces, with another random boundary each time.
    case multipart([MultipartPart])

    /// A body of JSON text. Text that two readers could read differently (a name twice, a number that no double
    /// holds) is kept byte for byte, so that nothing in it is changed or merged.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/malformedJSON`` with line and column.
    public static func json(text: String) throws(RequestError) -> RequestBody {
        do {
            return .json(try JSONValue.read(text.utf8))
        } catch  where error.code == .ambiguousJSON {
            return .bytes(Data(text.utf8), contentType: "application/json")
        } catch {
            throw error
        }
    }

    /// A body of any value's JSON.
    ///
    /// - Throws: `EncodingError`, or ``RequestError/Code-swift.struct/ambiguousJSON`` for a number no double holds.
    public static func json(encoding value: some Encodable, using encoder: JSONEncoder = JSONEncoder()) throws
        -> RequestBody
    {
        .json(try JSONValue.read(try encoder.encode(value)))
    }

    /// Whether what it holds can change without it.
    var readsFiles: Bool { !files.isEmpty }

    /// What is read where it is sent, in order.
    var files: [URL] {
        switch self {
        case .json, .form, .bytes: []
        case .file(let url, _): [url]
        case .multipart(let parts): parts.compactMap { if case .file(let url) = $0.content { url } else { nil } }
        }
    }

    var contentType: String? {
        switch self {
        case .json: "application/json"
        case .form: "application/x-www-form-urlencoded"
        case .bytes(_, let contentType), .file(_, let contentType): contentType
        case .multipart: "multipart/form-data"
        }
    }

    /// The bytes to send, of a body that is whole in memory.
    func encoded(_ encoding: ParameterEncoding = .standard) throws(RequestError) -> Data {
        switch self {
        case .json(let value): Data(try value.written())
        case .form(let parameters): Data(try parameters.items(encoding).bytes)
        case .bytes(let data, _): data
        case .file, .multipart:
            throw RequestError(.malformedRequest, "the body is not whole in memory: it is sent in segments")
        }
    }
}
