import Diamond
import Foundation

/// The data of a `curl` command, joined from its options as `curl` does.
struct CurlData {
    /// The ways in which an option reads its value.
    enum Form {
        case text, raw, binary, encoded
    }

    private(set) var bytes: [UInt8]?
    private(set) var isJSON = false
    /// The bytes of standard input, for `@-`.
    var input: [UInt8]?

    mutating func add(_ value: ShellWord, as form: Form) throws(RequestError) {
        let added = try content(of: value, as: form)
        // Like curl, writes no '&' after empty data.
        if bytes?.isEmpty == false { bytes?.append(UInt8(ascii: "&")) }
        append(added)
    }

    /// Adds the value of `--json`, which curl joins without an `&`.
    mutating func add(json value: ShellWord) throws(RequestError) {
        append(try content(of: value, as: .text))
        isJSON = true
    }

    private mutating func append(_ added: [UInt8]) {
        if bytes?.append(contentsOf: added) == nil { bytes = added }
    }

    private func content(of value: ShellWord, as form: Form) throws(RequestError) -> [UInt8] {
        switch form {
        case .raw: return value.bytes
        case .encoded: return try Self.encoded(value)
        case .binary where value.bytes.elementsEqual("@-".utf8):
            if let input { return input }
        default: break
        }
        guard value.bytes.first != at else { throw Self.file(value) }
        return value.bytes
    }

    /// Returns the value of `--data-urlencode`: `content`, `=content` or `name=content`, with the content encoded. As
    /// in curl, spaces become `+`.
    private static func encoded(_ value: ShellWord) throws(RequestError) -> [UInt8] {
        let equals = value.bytes.firstIndex(of: UInt8(ascii: "="))
        if equals == nil, value.bytes.contains(at) { throw file(value) }
        let name = value.bytes[..<(equals ?? 0)]
        let content = value.bytes[(equals.map { $0 + 1 } ?? 0)...]
        return name + (name.isEmpty ? [] : [UInt8(ascii: "=")]) + encoded(content)
    }

    private static func encoded(_ content: ArraySlice<UInt8>) -> [UInt8] {
        var encoded: [UInt8] = []
        for byte in content {
            guard byte != UInt8(ascii: " ") else { encoded.append(UInt8(ascii: "+")); continue }
            PercentEncoding.append(byte, bare: PercentEncoding.isUnreserved(byte), to: &encoded)
        }
        return encoded
    }

    private static func file(_ value: ShellWord) -> RequestError {
        value.failure("the data are in a file: put its content in, or use --data-raw if the text begins with '@'")
    }
}

private let at = UInt8(ascii: "@")

extension RequestBody {
    /// Creates a body from a command's data and their `Content-Type`.
    ///
    /// JSON and forms become values if they are sent as the same bytes. Malformed JSON, ambiguous JSON and other forms
    /// stay bytes.
    init(_ data: [UInt8], contentType: String?) {
        let mediaType = contentType?.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        let text = String(validating: data, as: UTF8.self)
        if mediaType == "application/json", let text, let body = try? RequestBody.json(text: text) {
            self = body
        } else if mediaType == "application/x-www-form-urlencoded", let form = Self.form(data) {
            self = form
        } else {
            self = .bytes(.init(data), contentType: contentType)
        }
    }

    /// Returns a form; `nil` if its parameters would be written as other bytes.
    private static func form(_ data: [UInt8]) -> RequestBody? {
        var parameters = Parameters()
        for item in data.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = parts.compactMap { String(decoding: $0, as: UTF8.self).removingPercentEncoding }
            guard texts.count == parts.count, let name = texts.first else { return nil }
            parameters.append(name, texts.count == 2 ? JSONValue.string(texts[1]) : JSONValue.null)
        }
        let body = RequestBody.form(parameters)
        return (try? body.encoded()).map(Array.init) == data ? body : nil
    }
}
