#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation
import HTTPTypes

/// The head of a response, which libcurl passes line by line, interim responses first and trailers last.
struct CurlHead {
    /// Whether values keep their bytes, because they are passed on.
    let keepsBytes: Bool
    private(set) var status = 0
    private(set) var fields = HTTPFields()
    /// Whether the previous line was a field, which a folded line continues.
    private var isInField = false
    /// The content of the folded lines of the last field, each after a blank. It is appended to the field when the
    /// folded lines end.
    private var folds: [UInt8] = []
    /// The number of bytes of all lines, including interim responses.
    private var size = 0
    private var isOverfull = false
    /// Whether the version is HTTP/1, in which the fields determine the end of the body. Later versions have frames.
    private(set) var isHTTP1 = false
    private(set) var isHTTP10 = false
    /// Whether the next line begins a head.
    private var isAtStart = true
    /// Whether a line is no field. A field that cannot be represented must not be dropped: it may forbid the storage.
    private(set) var hasInvalidLine = false
    /// Whether libcurl has not seen a field that determines the end of the body: it takes no name with a blank before
    /// the colon, and no folded value.
    private var hidesFraming = false
    private var framing = Framing()

    init(keepingBytes keepsBytes: Bool = false) { self.keepsBytes = keepsBytes }

    /// The message for a head that exceeds the limits; `nil` for any other.
    var excess: String? {
        isOverfull ? HeadLimit.tooManyFields : size > HeadLimit.mostBytes ? HeadLimit.tooLarge : nil
    }

    /// Adds a line.
    ///
    /// - Returns: `true` if the head of the final response, or of a switch to another protocol, is complete.
    mutating func add(_ line: UnsafeRawBufferPointer, names: inout CurlNameCache) -> Bool {
        size += line.count
        let content = line.trimmed
        if line.first == 0x20 || line.first == 0x09 {
            unfold(content)
            return false
        }
        if !folds.isEmpty { endFolds() }
        if content.isEmpty {
            isAtStart = true
            guard status >= 200 || status == 101 else { return false }
            end()
            return true
        } else if isAtStart, content.starts(with: "HTTP/".utf8) {
            begin(content)
        } else {
            addField(content, names: &names)
        }
        return false
    }

    /// Returns the interim response whose head is complete, once; `nil` for any other head, and for 100, which is about
    /// the body of the request.
    mutating func takeInterim() -> InterimResponse? {
        guard (102..<200).contains(status) else { return nil }
        defer { status = 0 }
        // It has no body (RFC 9110 section 8.6).
        fields[.contentLength] = nil
        return InterimResponse(status: HTTPResponse.Status(code: status), headers: fields)
    }

    private mutating func begin(_ line: Slice<UnsafeRawBufferPointer>) {
        status = Self.status(of: line)
        fields = HTTPFields()
        isInField = false
        isAtStart = false
        isHTTP1 = line.starts(with: "HTTP/1.".utf8)
        isHTTP10 = line.starts(with: "HTTP/1.0".utf8)
        hidesFraming = false
    }

    private mutating func end() {
        framing = Framing(fields)
        fields.removeVoidLength(status: status)
    }

    // A folded line continues the previous value (RFC 9112 section 5.2). Read as a field, it could forge one.
    private mutating func unfold(_ line: Slice<UnsafeRawBufferPointer>) {
        guard isInField, let field = fields.last else { return hasInvalidLine = true }
        if Self.determinesFraming(field.name) { hidesFraming = true }
        if !folds.isEmpty || !field.isEmpty { folds.append(UInt8(ascii: " ")) }
        folds += line
    }

    private mutating func endFolds() {
        defer { folds = [] }
        guard var field = fields.last else { return }
        if field.name == .setCookie || keepsBytes {
            field = HTTPField(name: field.name, lenientValue: field.bytes + folds)
        } else {
            field.value += folds.withUnsafeBytes { Self.text($0[...]) }
        }
        fields[fields.endIndex - 1] = field
    }

    /// The value of `Content-Length`, if there is one.
    var contentLength: Int? { value(.contentLength).flatMap { Int($0) } }

    /// Whether the body comes in chunks.
    var isChunked: Bool { framing.codings.last == "chunked" }

    /// Whether the fields contradict each other about the end of the body (RFC 9112 section 6.3), or libcurl has not
    /// seen all of them.
    var isContradictory: Bool { isHTTP1 && (hidesFraming || framing.isContradictory) }

    // Returns the first value of a name. The subscript of HTTPFields joins all of them, which takes a microsecond.
    private func value(_ name: HTTPField.Name) -> String? { fields.first { $0.name == name }?.value }

    private mutating func addField(_ line: Slice<UnsafeRawBufferPointer>, names: inout CurlNameCache) {
        isInField = false
        isOverfull = fields.count >= HeadLimit.mostFields
        guard !isOverfull else { return }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return hasInvalidLine = true }
        let end = line.endOfName(before: colon)
        guard let name = names.name(UnsafeRawBufferPointer(rebasing: line[..<end])) else {
            return hasInvalidLine = true
        }
        // A blank before the colon is removed (RFC 9112 section 5.1).
        if end < colon, Self.determinesFraming(name) { hidesFraming = true }
        let value = UnsafeRawBufferPointer(rebasing: line[line.index(after: colon)...]).trimmed
        fields.append(keepsBytes ? HTTPField(name: name, lenientValue: value) : Self.field(name, value: value))
        isInField = true
    }

    private static func determinesFraming(_ name: HTTPField.Name) -> Bool {
        name == .contentLength || name == .transferEncoding
    }

    // Values that are sent back to a server keep their bytes: a cookie unchanged, a URL percent-encoded.
    private static func field(_ name: HTTPField.Name, value: Slice<UnsafeRawBufferPointer>) -> HTTPField {
        guard !value.allSatisfy({ $0 < 0x80 }), String(validating: value, as: UTF8.self) == nil else {
            return HTTPField(name: name, value: String(decoding: value, as: UTF8.self))
        }
        switch name {
        case .setCookie: return HTTPField(name: name, lenientValue: value)
        case .location, .contentLocation: return HTTPField(name: name, value: escaped(value))
        default: return HTTPField(name: name, value: text(value))
        }
    }

    private static func escaped(_ url: Slice<UnsafeRawBufferPointer>) -> String {
        var escaped: [UInt8] = []
        for byte in url { PercentEncoding.append(byte, bare: byte < 0x80, to: &escaped) }
        return String(decoding: escaped, as: UTF8.self)
    }

    // Decodes valid UTF-8 as such, and anything else as ISO-8859-1, the former encoding of header values.
    private static func text(_ value: Slice<UnsafeRawBufferPointer>) -> String {
        if value.allSatisfy({ $0 < 0x80 }) { return String(decoding: value, as: UTF8.self) }
        if let text = String(validating: value, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(value.map { Unicode.Scalar($0) }))
    }

    /// Returns the status in a line such as `HTTP/1.1 200 OK` or `HTTP/2 200`; 0 if there is none.
    private static func status(of line: Slice<UnsafeRawBufferPointer>) -> Int {
        let digits = line.drop { $0 != 0x20 }.dropFirst().prefix(3)
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    static func version(_ code: Int) -> String {
        switch code {
        case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
        case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
        case Int(CURL_HTTP_VERSION_3): "HTTP/3"
        default: "HTTP/1.1"
        }
    }
}

extension HTTPField {
    fileprivate var isEmpty: Bool { withUnsafeBytesOfValue { $0.isEmpty } }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Returns the end of a field's name: that of the last byte before the colon that is no blank.
    fileprivate func endOfName(before colon: Index) -> Index {
        var end = colon
        while end > startIndex, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return end
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes without white space and line ends at either end.
    fileprivate var trimmed: Slice<UnsafeRawBufferPointer> {
        var start = startIndex
        var end = endIndex
        while start < end, self[start] <= 0x20 { start += 1 }
        while end > start, self[end - 1] <= 0x20 { end -= 1 }
        return self[start..<end]
    }
}
#endif
