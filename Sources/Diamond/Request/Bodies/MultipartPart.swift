public import Foundation

/// A part of a `multipart/form-data` body (RFC 7578).
public struct MultipartPart: Hashable, Sendable {
    /// The content of a part.
    public enum Content: Hashable, Sendable {
        /// Bytes in memory.
        case bytes(Data)
        /// A file, read each time the body is sent. It must stay unchanged, as for
        /// ``RequestBody/file(_:contentType:)``.
        case file(URL)

        public static func == (one: Content, other: Content) -> Bool {
            switch (one, other) {
            case (.bytes(let one), .bytes(let other)): one == other
            case (.file(let one), .file(let other)): one.absoluteString.isExactly(other.absoluteString)
            default: false
            }
        }

        /// Hashes equal contents alike: a file by its absolute URL.
        public func hash(into hasher: inout Hasher) {
            switch self {
            case .bytes(let data): hasher.combine(data)
            case .file(let url): hasher.combine(url.absoluteString)
            }
        }
    }

    /// The name of the form field.
    public var name: String
    /// The file name to send; `nil` sends none.
    public var filename: String?
    /// The content type to send; `nil` sends none, which means `text/plain`.
    public var contentType: String?
    /// The content of the part.
    public var content: Content

    /// Creates a part. A part without a filename is a field.
    public init(_ name: String, _ content: Content, filename: String? = nil, contentType: String? = nil) {
        self.name = name
        self.content = content
        self.filename = filename
        self.contentType = contentType
    }

    /// Texts compare by their bytes.
    public static func == (one: MultipartPart, other: MultipartPart) -> Bool {
        one.name.isExactly(other.name) && one.filename.isExactly(other.filename)
            && one.contentType.isExactly(other.contentType) && one.content == other.content
    }

    /// Creates a field of text.
    public init(_ name: String, _ text: String) { self.init(name, .bytes(Data(text.utf8))) }

    /// Creates a part from a file, with the file's name as its filename.
    public init(_ name: String, file: URL, contentType: String? = nil) {
        self.init(name, .file(file), filename: file.lastPathComponent, contentType: contentType)
    }
}

extension MultipartPart {
    /// Returns the head of the part, with the empty line before the content.
    package func head() throws(RequestError) -> String {
        var head = "Content-Disposition: form-data; name=\"\(Self.quoted(name))\""
        if let filename { head += "; filename=\"\(Self.quoted(filename))\"" }
        guard let contentType else { return head + "\r\n\r\n" }
        guard !contentType.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw RequestError(
                .malformedHeader, "the content type of the part '\(name)' has a control character: remove it")
        }
        return head + "\r\nContent-Type: \(contentType)\r\n\r\n"
    }

    /// Returns the text as browsers write it: UTF-8, with the characters escaped that would end the quotes or the line
    /// (https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data).
    private static func quoted(_ text: String) -> String {
        String(
            decoding: text.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case UInt8(ascii: "\""): Array("%22".utf8)
                case 0x0A: Array("%0A".utf8)
                case 0x0D: Array("%0D".utf8)
                default: [byte]
                }
            }, as: UTF8.self)
    }

    func segment() throws(RequestError) -> BodySegment {
        switch content {
        case .bytes(let data): .bytes(data)
        case .file(let url): try BodySegment(file: url)
        }
    }
}

extension MultipartPart {
    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "a part")
        guard let name = try form.string("name") else { throw form.failure(at: "name", "is missing: name the field") }
        let filename = try form.string("filename")
        let contentType = try form.string("contentType")
        self.init(name, try Self.content(&form), filename: filename, contentType: contentType)
        try form.finish()
    }

    private static func content(_ form: inout WrittenObject) throws(RequestError) -> Content {
        if let text = try form.string("text") { return .bytes(Data(text.utf8)) }
        if let path = try form.string("file") { return .file(URL(filePath: path)) }
        guard let data = try form.bytes() else {
            throw form.failure(at: "text", "is missing, and so are base64 and file: give one")
        }
        return .bytes(data)
    }

    var written: JSONValue {
        var members: [String: JSONValue] = ["name": .string(name)]
        if let filename { members["filename"] = .string(filename) }
        if let contentType { members["contentType"] = .string(contentType) }
        switch content {
        case .file(let url): members["file"] = .string(url.path)
        case .bytes(let data): members.merge(data.written) { $1 }
        }
        return .object(members)
    }
}

extension MultipartPart: Redacted {
    /// The name, without the content.
    public var description: String { name }
}
