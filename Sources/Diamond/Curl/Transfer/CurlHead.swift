#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation
import HTTPTypes

/// The head of a response, which libcurl passes line by line, interim responses first and trailers last.
struct CurlHead {
    private(set) var status = 0
    private(set) var fields = HTTPFields()
    /// Whether the line before was a field, so that a folded line belongs to it.
    private var isInField = false
    /// The folded lines' additions to the last field, each behind a blank. They are appended when the last of them has
    /// come.
    private var folds: [UInt8] = []
    /// Bytes of all lines, interim responses' as well.
    private var size = 0
    private var isOverfull = false
    /// Whether the fields say where the body ends; other versions have frames.
    private var isHTTP1 = false

    /// The message for a head that exceeds the limits; `nil` for others.
    var excess: String? {
        isOverfull ? HeadLimit.tooManyFields : size > HeadLimit.mostBytes ? HeadLimit.tooLarge : nil
    }

    /// Adds a line; `true` when the head of the final response is complete, or that of a switch to another protocol.
    mutating func add(_ line: UnsafeRawBufferPointer, names: inout CurlNames) -> Bool {
        size += line.count
        let content = line.trimmed
        if line.first == 0x20 || line.first == 0x09 {
            unfold(content)
            return false
        }
        if !folds.isEmpty { endFolds() }
        if content.isEmpty {
            return status >= 200 || status == 101
        } else if content.starts(with: "HTTP/".utf8) {
            begin(content)
        } else {
            addField(content, &names)
        }
        return false
    }

    private mutating func begin(_ line: Slice<UnsafeRawBufferPointer>) {
        status = Self.status(of: line)
        fields = HTTPFields()
        isInField = false
        isHTTP1 = line.starts(with: "HTTP/1.".utf8)
    }

    // A folded line goes on with the value before it (RFC 9112 section 5.2); taken for a field it could forge one.
    private mutating func unfold(_ line: Slice<UnsafeRawBufferPointer>) {
        guard isInField else { return }
        folds.append(UInt8(ascii: " "))
        folds += line
    }

    private mutating func endFolds() {
        defer { folds = [] }
        guard var field = fields.last else { return }
        if field.name == .setCookie {
            field = HTTPField(name: field.name, lenientValue: field.bytes + folds)
        } else {
            field.value += folds.withUnsafeBytes { Self.text($0[...]) }
        }
        fields[fields.endIndex - 1] = field
    }

    /// The value of `Content-Length`, if there is one.
    var contentLength: Int? { value(.contentLength).flatMap { Int($0) } }

    /// Whether the fields contradict each other on where a body ends (RFC 9112 section 6.3). libcurl goes by the last
    /// length, by the first of a list, by the end of the connection where one is too large for it, and by a length
    /// beside a coding that is not in chunks: it would hand a part over as the whole.
    // Also beside `identity`, by which RFC 2616 said that there is none: libcurl 7.88, among others, passes over
    // the length then, and waits for the close of the connection, and whatever has come by then is the whole to it.
    var isContradictory: Bool {
        guard isHTTP1, !isPlain else { return false }
        var (codings, lengths) = ([String](), [String]())
        for field in fields {
            if field.name == .contentLength { lengths += field.value.listElements }
            if field.name == .transferEncoding { codings += field.value.listElements.filter { !$0.isEmpty } }
        }
        guard codings.last != "chunked" else { return false }
        guard codings.isEmpty else { return !lengths.isEmpty || codings.contains("chunked") }
        // One that is said again is one.
        let said = Set(lengths.map { Int64(digits: $0) })
        return said.count > 1 || said.contains(nil)
    }

    /// Whether there is one length at most, and no coding. Looked at first and without any copies: it is so of almost
    /// every head, and to take the lists apart took almost half of the time of one.
    private var isPlain: Bool {
        var length: String?
        for field in fields {
            guard field.name != .transferEncoding else { return false }
            guard field.name == .contentLength else { continue }
            guard length == nil else { return false }
            length = field.value
        }
        return length.map { Int64(digits: $0) != nil } ?? true
    }

    // The first of its name: the subscript of HTTPFields joins them all, which takes a microsecond.
    private func value(_ name: HTTPField.Name) -> String? { fields.first { $0.name == name }?.value }

    private mutating func addField(_ line: Slice<UnsafeRawBufferPointer>, _ names: inout CurlNames) {
        isInField = false
        isOverfull = fields.count >= HeadLimit.mostFields
        guard !isOverfull, let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = names.name(UnsafeRawBufferPointer(rebasing: line[..<colon]))
        else { return }
        let value = UnsafeRawBufferPointer(rebasing: line[line.index(after: colon)...]).trimmed
        fields.append(Self.field(name, value))
        isInField = true
    }

    // What goes back to a server keeps its bytes: a cookie as it is, a URL escaped, which is the same URL.
    private static func field(_ name: HTTPField.Name, _ value: Slice<UnsafeRawBufferPointer>) -> HTTPField {
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

    // UTF-8 where it is that, else ISO-8859-1, as header values were once defined to be.
    private static func text(_ value: Slice<UnsafeRawBufferPointer>) -> String {
        if value.allSatisfy({ $0 < 0x80 }) { return String(decoding: value, as: UTF8.self) }
        if let text = String(validating: value, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(value.map { Unicode.Scalar($0) }))
    }

    /// `HTTP/1.1 200 OK`, `HTTP/2 200`.
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

extension UnsafeRawBufferPointer {
    /// Without white space and line ends at either end.
    fileprivate var trimmed: Slice<UnsafeRawBufferPointer> {
        var start = startIndex
        var end = endIndex
        while start < end, self[start] <= 0x20 { start += 1 }
        while end > start, self[end - 1] <= 0x20 { end -= 1 }
        return self[start..<end]
    }
}
#endif
