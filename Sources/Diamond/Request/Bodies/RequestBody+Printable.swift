import Foundation

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

extension MultipartPart: Redacted {
    /// The name, without the content.
    public var description: String { name }
}
