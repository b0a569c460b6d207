/// A double that one multiplication or division of exact doubles gives, rounded correctly (Clinger, "How to read floating
/// point numbers accurately", 1990).
struct QuickDouble {
    let double: Double
    /// The number of digits without leading zeros.
    let digits: Int

    private static let powers: [Double] = (0...22).map { Double("1e\($0)") ?? 1 }

    /// Creates the double of a number in JSON syntax; `nil` if its digits make an integer beyond 2^53, or if its last
    /// digit stands for less than 1e-22 or more than 1e22.
    init?(_ text: UnsafeRawBufferPointer) {
        let isNegative = text.first == UInt8(ascii: "-")
        var (mantissa, exponent, index) = (0 as UInt64, 0, isNegative ? 1 : 0)
        var (digits, isFraction) = (0, false)
        while index < text.count, text[index] | 0x20 != UInt8(ascii: "e") {
            defer { index += 1 }
            if text[index] == UInt8(ascii: ".") {
                isFraction = true
                continue
            }
            mantissa = mantissa &* 10 &+ UInt64(text[index] &- UInt8(ascii: "0"))
            if digits > 0 || mantissa > 0 { digits += 1 }
            if isFraction { exponent -= 1 }
            guard digits < 20 else { return nil }
        }
        if index < text.count {
            guard text.count - index < 6, let written = Self.exponent(in: text[(index + 1)...]) else { return nil }
            exponent += written
        }
        guard mantissa <= 1 << 53, exponent.magnitude <= 22 else { return nil }
        let power = Self.powers[Int(exponent.magnitude)]
        let magnitude = exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
        double = isNegative ? -magnitude : magnitude
        self.digits = digits
    }

    private static func exponent(in text: Slice<UnsafeRawBufferPointer>) -> Int? {
        Int(String(decoding: text, as: UTF8.self))
    }
}
