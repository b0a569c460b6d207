#if Tools
import Diamond
import Foundation
import HTTPTypes

/// The format and the size in pixels of an image, as its first bytes declare them: PNG, GIF, JPEG or WebP.
struct ImageSize {
    private(set) var format = ""
    private(set) var width = 0
    private(set) var height = 0

    private let bytes: [UInt8]

    init?(_ body: Data) {
        // The size of a JPEG comes after its metadata, which may have a preview.
        bytes = Array(body.prefix(1 << 20))
        guard readPNG() || readGIF() || readWebP() || readJPEG(), width > 0, height > 0 else { return nil }
    }

    var text: String { "\(format), \(width) × \(height) pixels" }

    var form: JSONObject { ["format": format, "width": width, "height": height] }

    private func begins(_ name: [UInt8], at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: name) }

    /// Returns a number, the highest byte first; 0 after the end.
    private func number(_ range: Range<Int>) -> Int {
        range.upperBound <= bytes.count ? bytes[range].reduce(0) { $0 << 8 | Int($1) } : 0
    }

    /// Returns a number, the lowest byte first; 0 after the end.
    private func reversed(_ range: Range<Int>) -> Int {
        range.upperBound <= bytes.count ? bytes[range].reversed().reduce(0) { $0 << 8 | Int($1) } : 0
    }

    private mutating func set(_ format: String, _ size: (width: Int, height: Int)) -> Bool {
        self.format = format
        width = size.width
        height = size.height
        return true
    }

    private mutating func readPNG() -> Bool {
        guard begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return false }
        return set("PNG", (number(16..<20), number(20..<24)))
    }

    private mutating func readGIF() -> Bool {
        guard begins(Array("GIF8".utf8)) else { return false }
        return set("GIF", (reversed(6..<8), reversed(8..<10)))
    }

    private mutating func readWebP() -> Bool {
        guard begins(Array("RIFF".utf8)), begins(Array("WEBPVP8".utf8), at: 8), bytes.count > 29 else { return false }
        switch bytes[15] {
        case UInt8(ascii: "X"): return set("WebP", (reversed(24..<27) + 1, reversed(27..<30) + 1))
        case UInt8(ascii: "L"):
            let bits = reversed(21..<25)
            return set("WebP", (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1))
        default: return set("WebP", (reversed(26..<28) & 0x3FFF, reversed(28..<30) & 0x3FFF))
        }
    }

    /// Reads the segments up to the first frame header (ITU T.81, B.2.2).
    private mutating func readJPEG() -> Bool {
        guard begins([0xFF, 0xD8]) else { return false }
        var offset = 2
        while offset + 9 <= bytes.count, bytes[offset] == 0xFF {
            let marker = bytes[offset + 1]
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                return set("JPEG", (number(offset + 7..<offset + 9), number(offset + 5..<offset + 7)))
            }
            // A marker may be preceded by bytes of 0xFF.
            offset += marker == 0xFF ? 1 : 2 + number(offset + 2..<offset + 4)
        }
        return false
    }
}

extension Masking {
    /// Masks a body for people. An image stays as it is: nothing in it has a name.
    static func shown(_ body: Data, headers: HTTPFields) -> Data {
        ImageSize(body) == nil ? self.body(body, headers: headers) : body
    }
}
#endif
