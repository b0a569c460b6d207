#if Tools
import Diamond
import Foundation
import HTTPTypes

/// The preview of a body on a page: text with secrets masked, an image, or the first bytes.
struct BodyPreview {
    /// The text, with JSON indented, or bytes in hexadecimal digits; `nil` for an image.
    private(set) var text: String?
    /// The image as a data URL; `nil` if it is none.
    private(set) var image: String?
    /// The size, and what of the body is shown.
    private(set) var caption: String

    /// The maximum number of bytes of a text that are shown.
    private static let textLimit = 256 << 10
    private static let imageLimit = 8 << 20
    private static let hexLimit = 1024

    init(_ body: Data, headers: HTTPFields) {
        caption = Quantity.bytes(Int64(body.count))
        let masked = Self.masked(body, headers: headers)
        if let image = ImageSize(body), body.count <= Self.imageLimit {
            self.image = "data:image/\(image.format.lowercased());base64,\(body.base64EncodedString())"
            caption += ", \(image.text)"
        } else if let text = String(validating: masked, as: UTF8.self) {
            show(text)
        } else {
            text = Self.hex(body.prefix(Self.hexLimit))
            noteLimit(Self.hexLimit, of: body.count)
        }
    }

    /// Returns a body without secrets. Only texts have names that say what is secret.
    static func masked(_ body: Data, headers: HTTPFields) -> Data {
        String(validating: body, as: UTF8.self) == nil ? body : Masking.body(body, headers: headers)
    }

    private mutating func show(_ text: String) {
        let count = text.utf8.count
        noteLimit(Self.textLimit, of: count)
        let isWhole = count <= Self.textLimit
        self.text =
            isWhole
            ? JSONLayout.indented(text) ?? text : String(decoding: text.utf8.prefix(Self.textLimit), as: UTF8.self)
    }

    private mutating func noteLimit(_ limit: Int, of count: Int) {
        if count > limit { caption += ", of which the first \(Quantity.bytes(Int64(limit))) are shown" }
    }

    /// Returns 16 bytes in each line: the offset, hexadecimal digits, and ASCII characters.
    private static func hex(_ body: Data) -> String {
        let bytes = Array(body)
        return stride(from: 0, to: bytes.count, by: 16).map { start in
            let line = bytes[start..<min(start + 16, bytes.count)]
            let digits = line.map { Hex.text(of: [$0]) }.joined(separator: " ")
            let text = line.map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
            return
                "\(String(start).leftPadded(to: 6))  \(digits.padding(toLength: 48, withPad: " ", startingAt: 0)) \(text)"
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
#endif
