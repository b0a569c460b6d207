import Foundation
import HTTPTypes

/// A text encoding other than UTF-8.
///
/// Names have the same meaning as in browsers (https://encoding.spec.whatwg.org/#names-and-labels). `iso-8859-1` and
/// `us-ascii` are read as windows-1252, their superset, because servers use these names for it. `utf-16` without a byte
/// order mark is little-endian.
enum Charset: Hashable, Sendable {
    case windows1252
    case utf16(isBigEndian: Bool)
    /// An encoding that Foundation knows.
    case other(String.Encoding)

    /// Creates the charset with a name; `nil` for UTF-8 and for an unknown name.
    init?(_ name: Substring) {
        guard !name.utf8.isSame(as: "utf-8"), let known = Self.known[name.lowercased()] else { return nil }
        self = known
    }

    private static let known: [String: Charset] = {
        let names: [(Charset, [String])] = [
            (.windows1252, ["windows-1252", "cp1252", "x-cp1252", "us-ascii", "ascii", "ansi_x3.4-1968"]),
            (.windows1252, ["iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "l1"]),
            (.utf16(isBigEndian: false), ["utf-16", "utf-16le", "ucs-2", "unicode"]),
            (.utf16(isBigEndian: true), ["utf-16be"]),
            (.other(.isoLatin2), ["iso-8859-2", "iso8859-2", "iso_8859-2", "latin2", "l2"]),
            (.other(.windowsCP1250), ["windows-1250", "cp1250"]),
            (.other(.windowsCP1251), ["windows-1251", "cp1251"]),
            (.other(.windowsCP1253), ["windows-1253", "cp1253"]),
            (.other(.windowsCP1254), ["windows-1254", "cp1254", "iso-8859-9", "latin5"]),
            (.other(.shiftJIS), ["shift_jis", "shift-jis", "sjis", "windows-31j"]),
        ]
        return Dictionary(uniqueKeysWithValues: names.flatMap { charset, names in names.map { ($0, charset) } })
    }()

    // MARK: Reading

    /// Whether the charset is UTF-16.
    fileprivate var isUTF16: Bool { if case .utf16 = self { true } else { false } }

    /// Returns the decoded text.
    ///
    /// - Returns: The text; `nil` if the bytes are not valid in the charset. Invalid UTF-16 is repaired.
    func text(of bytes: Data) -> String? {
        switch self {
        case .windows1252: String(decoding: bytes.map(Self.unit), as: UTF16.self)
        case .utf16(let isBigEndian): Self.utf16(bytes, isBigEndian: isBigEndian)
        case .other(let encoding): String(data: bytes, encoding: encoding)
        }
    }

    /// Returns the text after a byte order mark, which takes precedence over the name of a charset
    /// (https://encoding.spec.whatwg.org/#decode); `nil` if there is no mark.
    static func textAfterMark(of bytes: Data) -> String? {
        switch bytes.first {
        case 0xef where bytes.starts(with: UTF8.byteOrderMark): String(decoding: bytes.dropFirst(3), as: UTF8.self)
        case 0xfe where bytes.starts(with: [0xfe, 0xff]): utf16(bytes.dropFirst(2), isBigEndian: true)
        case 0xff where bytes.starts(with: [0xff, 0xfe]): utf16(bytes.dropFirst(2), isBigEndian: false)
        default: nil
        }
    }

    /// Returns the byte order of a body in UTF-16: that of its byte order mark, or of the zero bytes of ASCII characters
    /// at its beginning, because JSON and forms begin with two of them (RFC 4627 section 3).
    ///
    /// - Returns: whether it is big-endian; `nil` for a body that is not in UTF-16.
    static func isBigEndianUTF16(_ body: Data) -> Bool? {
        let start = Array(body.prefix(4))
        guard start.count == 4 else { return nil }
        if start.starts(with: [0xfe, 0xff]) { return true }
        if start.starts(with: [0xff, 0xfe]) { return false }
        switch start.map({ $0 == 0 }) {
        case [true, false, true, false]: return true
        case [false, true, false, true]: return false
        default: return nil
        }
    }

    /// Returns a text in UTF-16.
    static func data(utf16 text: String, isBigEndian: Bool) -> Data {
        Data(
            text.utf16.flatMap {
                isBigEndian ? [UInt8($0 >> 8), UInt8($0 & 0xff)] : [UInt8($0 & 0xff), UInt8($0 >> 8)]
            })
    }

    private static func utf16(_ data: Data, isBigEndian: Bool) -> String {
        let bytes = Array(data)
        let (high, low) = isBigEndian ? (0, 1) : (1, 0)
        var units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            UInt16(bytes[index + high]) << 8 | UInt16(bytes[index + low])
        }
        // The last unit is incomplete.
        if !bytes.count.isMultiple(of: 2) { units.append(0xfffd) }
        return String(decoding: units, as: UTF16.self)
    }

    // Foundation refuses text with one of the five undefined bytes; browsers map each to a control character
    // (https://encoding.spec.whatwg.org/index-windows-1252.txt).
    private static func unit(ofWindows1252 byte: UInt8) -> UInt16 {
        (0x80..<0xa0).contains(byte) ? windows1252Units[Int(byte) - 0x80] : UInt16(byte)
    }

    private static let windows1252Units: [UInt16] = [
        0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d,
        0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a,
        0x0153, 0x009d, 0x017e, 0x0178,
    ]
}

extension UTF8 {
    /// U+FEFF at the beginning of a text, which is no part of it.
    static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
}

// MARK: Responses

extension Response {
    /// The charset of `Content-Type`; `nil` if it is UTF-8, missing or unknown. Then the body is read as UTF-8.
    private var charset: Charset? {
        headers.single(.contentType).flatMap(MediaType.charset).flatMap { Charset($0) }
    }

    /// The body as text, decoded with the charset of `Content-Type`, such as `iso-8859-1`, `windows-1252` or `utf-16`;
    /// UTF-8 if it names no known charset. A byte order mark takes precedence, and is no part of the text. Invalid text
    /// is repaired.
    public var text: String {
        Charset.textAfterMark(of: body) ?? charset?.text(of: body) ?? String(decoding: body, as: UTF8.self)
    }

    /// The JSON body in UTF-8, without a byte order mark. If `Content-Type` names another charset than UTF-16, a body
    /// that is valid UTF-8 is unchanged: JSON defines no charset (RFC 8259 section 11), and servers often name a wrong
    /// one.
    var bodyInUTF8: Data {
        if body.first == 0xef, body.starts(with: UTF8.byteOrderMark) { return Data(body.dropFirst(3)) }
        if let text = Charset.textAfterMark(of: body) { return Data(text.utf8) }
        guard let charset else { return body }
        if !charset.isUTF16, String(validating: body, as: UTF8.self) != nil { return body }
        return charset.text(of: body).map { Data($0.utf8) } ?? body
    }

    /// Returns the body for a decoder. JSON is converted to UTF-8, the only charset of RFC 8259 (section 8.1). Other
    /// bodies are unchanged.
    func body(for decoder: any ResponseDecoder) -> Data {
        guard charset != nil || Charset.textAfterMark(of: body) != nil,
            decoder is JSONDecoder || MediaType(headers.single(.contentType)).isJSON
        else { return body }
        return bodyInUTF8
    }

    /// Replaces the body with UTF-8 bytes. A charset in `Content-Type` becomes `utf-8`.
    mutating func replaceBody(inUTF8 bytes: [UInt8]) {
        if charset != nil, var field = headers.single(.contentType), let name = MediaType.charset(in: field) {
            field.replaceSubrange(name.startIndex..<name.endIndex, with: "utf-8")
            headers[.contentType] = field
        }
        body = Data(bytes)
        if headers[.contentLength] != nil { headers[.contentLength] = "\(bytes.count)" }
    }
}
