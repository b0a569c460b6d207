import Diamond
import Foundation

/// The option of `curl` that sends a part of a multipart body.
struct CurlPart {
    private let part: MultipartPart
    /// The variable in place of the content; `nil` if it is not secret.
    private let variable: String?

    /// - Throws: ``RequestError/Code-swift.struct/malformedRequest`` if no option of `curl` sends the part.
    init(_ part: MultipartPart, variable: String?) throws(RequestError) {
        self.part = part
        self.variable = variable
        try checkBytes()
        try checkReading()
    }

    var words: [String] { [option, text(hiding: variable).escaped] }

    private var option: String { isLiteral ? "--form-string" : "-F" }

    /// Whether the part is written with `--form-string`, without curl's quotes. Content that ends in a line feed needs
    /// quotes, because the shell removes line feeds at the end of `$(printf …)`.
    private var isLiteral: Bool {
        guard case .bytes(let data) = part.content, part.filename == nil, part.contentType == nil else { return false }
        return variable != nil || data.last != UInt8(ascii: "\n")
    }

    private func text(hiding variable: String?) -> ShellText {
        var text = ShellText("\(part.name)=".utf8)
        switch part.content {
        case .bytes(let data):
            if !isLiteral { text.append("\"".utf8) }
            if let variable {
                text.append(variable: variable)
            } else {
                text.append(isLiteral ? Array(data) : Self.escaped(data))
            }
            if !isLiteral { text.append("\"".utf8) }
        case .file(let url):
            text.append((part.filename == nil ? "<" : "@").utf8 + Self.quoted(url.path))
        }
        text.append(attributes)
        return text
    }

    private var attributes: [UInt8] {
        var attributes: [UInt8] = []
        if let type = part.contentType { attributes += ";type=\(type)".utf8 }
        if let filename = part.filename, !isSentByDefault(filename) {
            attributes += ";filename=".utf8 + Self.quoted(filename)
        }
        return attributes
    }

    private func isSentByDefault(_ filename: String) -> Bool {
        guard case .file(let url) = part.content else { return false }
        return url.path.utf8.split(separator: UInt8(ascii: "/")).last?.elementsEqual(filename.utf8) == true
    }

    /// Returns the text, in curl's quotes if curl would not read it literally.
    private static func quoted(_ text: String) -> [UInt8] {
        let isPlain = text.utf8.allSatisfy { $0 > 0x7F || $0 == UInt8(ascii: "/") || PercentEncoding.isUnreserved($0) }
        return isPlain && !text.isEmpty ? Array(text.utf8) : "\"".utf8 + escaped(text.utf8) + "\"".utf8
    }

    private static func escaped(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.flatMap { "\\\"".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    // MARK: Checks

    private func checkBytes() throws(RequestError) {
        if case .bytes(let data) = part.content, data.contains(0) {
            throw refusal("contains a NUL, which a command line cannot: put its content in a file")
        }
        guard !(part.name + (part.filename ?? "")).utf8.contains(0) else {
            throw refusal("has a NUL in its name: remove it")
        }
        guard !part.name.isEmpty, !part.name.utf8.contains(UInt8(ascii: "=")) else {
            throw refusal("has an empty name or one with a '=', which curl cannot send: give it another name")
        }
    }

    /// Checks that curl reads the option as the same part.
    private func checkReading() throws(RequestError) {
        let read: MultipartPart
        do throws(RequestError) {
            var field = try CurlFormField(ShellWord(bytes: text(hiding: nil).bytes, position: 1))
            read = isLiteral ? field.literalPart : try field.part()
        } catch {
            throw refusal("would be refused by curl: write its type as type/subtype, for a file without a ','")
        }
        guard read.contentType == part.contentType else {
            let type = read.contentType.map { "'\($0)'" } ?? "none"
            throw refusal("would be sent with another type by curl, \(type): give it one that curl takes")
        }
        guard read.filename == part.filename, read.hasSameContent(as: part) else {
            throw refusal("would be sent differently by curl: simplify its type, its filename or its path")
        }
    }

    private func refusal(_ reason: String) -> RequestError {
        RequestError(.malformedRequest, "the part '\(part.name)' \(reason)")
    }
}

extension MultipartPart {
    fileprivate func hasSameContent(as other: MultipartPart) -> Bool {
        switch (content, other.content) {
        case (.bytes(let one), .bytes(let two)): one == two
        case (.file(let one), .file(let two)): one.path.utf8.elementsEqual(two.path.utf8)
        default: false
        }
    }
}
