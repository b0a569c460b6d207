#if Tools
import Diamond
import Foundation
import HTTPTypes

/// The preview of a body on a page: text with secrets masked, an image, or the first bytes with secrets masked.
struct BodyPreview {
    /// The text, with JSON indented, or bytes in hexadecimal digits; `nil` for an image.
    private(set) var text: String?
    /// The path of the image; `nil` if it is none.
    private(set) var image: String?
    /// The size, and what of the body is shown.
    private(set) var caption: String

    /// The maximum number of bytes of a text that are shown.
    private static let textLimit = 256 << 10
    private static let hexLimit = 1024

    /// - Parameter imagePath: The path that has the body if it is an image; `nil` if none has.
    init(_ body: Data, headers: HTTPFields, imagePath: String? = nil) {
        caption = Quantity.bytes(Int64(body.count))
        let image = ImageSize(body)
        if let image { caption += ", \(image.text)" }
        if image != nil, let imagePath {
            self.image = imagePath
        } else {
            show(Masking.shown(body, headers: headers))
        }
    }

    /// Creates the preview of a stored body. One above ``FoundEntry/bodyLimit`` is not shown.
    init(_ response: StoredResponse, of entry: FoundEntry) {
        if response.isWhole {
            self.init(response.body, headers: response.headers, imagePath: entry.imagePath)
        } else {
            let limit = Quantity.bytes(Int64(FoundEntry.bodyLimit))
            self.init(caption: "\(Quantity.bytes(entry.listing.bodySize)): bodies above \(limit) are not shown")
        }
    }

    private init(caption: String) { self.caption = caption }

    private mutating func show(_ body: Data) {
        if let text = String(validating: body, as: UTF8.self) { return show(text) }
        text = Self.hex(body.prefix(Self.hexLimit))
        noteLimit(Self.hexLimit, of: body.count)
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
