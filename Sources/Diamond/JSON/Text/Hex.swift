/// Conversions between bytes and hexadecimal digits.
package enum Hex {
    private static let lower = Array("0123456789abcdef".utf8)

    /// Returns the two lower-case digits of a byte.
    static func digits(of byte: UInt8) -> [UInt8] { [lower[Int(byte >> 4)], lower[Int(byte & 15)]] }

    package static func text(of bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap(digits(of:)), as: UTF8.self)
    }

    /// Returns the bytes of a text in hexadecimal; `nil` if it does not consist of pairs of digits.
    package static func bytes(of text: String) -> [UInt8]? {
        let values = text.utf8.map(value(of:))
        guard values.count.isMultiple(of: 2), values.allSatisfy({ $0 != nil }) else { return nil }
        let nibbles = values.compactMap { $0 }
        return stride(from: 0, to: nibbles.count, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
    }

    /// Returns the value of a digit in upper or lower case.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
