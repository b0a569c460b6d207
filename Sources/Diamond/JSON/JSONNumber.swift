/// Numbers as ECMAScript writes them (ECMA-262, Number::toString; RFC 8785 section 3.2.2.3).
enum JSONNumber {
    /// Returns the shortest text that reads back as `value`, formatted by ECMAScript's rules; `nil` if it is not
    /// finite.
    static func text(of value: Double) -> [UInt8]? {
        guard value.isFinite else { return nil }
        guard value != 0 else { return [UInt8(ascii: "0")] }
        if isDescribed(value) { return Array(value.description.utf8) }
        let decimal = Decimal(parsing: Array(value.magnitude.description.utf8))
        // An integer of more than 21 digits has an exponent.
        return (value < 0 ? [UInt8(ascii: "-")] : []) + (decimal.point > 21 ? decimal.scientificText : decimal.text)
    }

    /// Whether Swift's description of a number has the same digits and the same format.
    static func isDescribed(_ value: Double) -> Bool {
        (1e-4..<1e15).contains(value.magnitude) && value != value.rounded()
    }

    /// Whether a number with a fraction, in JSON syntax, is written as it is. `false` if that takes longer to find out.
    ///
    /// A double represents any 15 digits, so no shorter text has the same double.
    static func isShortest(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= 16, text.last != UInt8(ascii: "0"),
            !text.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }),
            let quick = QuickDouble(text)
        else { return false }
        return quick.digits <= 15 && isDescribed(quick.double)
    }

    /// Whether a number in JSON syntax has the same value after conversion to a double and back.
    static func roundTrips(_ text: ArraySlice<UInt8>) -> Bool {
        let unsigned = text.first == UInt8(ascii: "-") ? text.dropFirst() : text
        guard let double = Double(String(decoding: unsigned, as: UTF8.self)), double.isFinite else { return false }
        return Decimal(parsing: Array(unsigned)) == Decimal(parsing: Array(double.description.utf8))
    }
}

extension JSONNumber {
    /// The decimal number 0.DIGITS × 10^point, without leading and trailing zeros. Zero has no digits.
    struct Decimal: Equatable {
        private(set) var digits: [UInt8] = []
        private(set) var point = 0

        init(parsing text: [UInt8]) {
            var exponent = 0
            var integerDigits: Int?
            for (index, byte) in text.enumerated() {
                switch byte {
                case UInt8(ascii: "."): integerDigits = digits.count
                case UInt8(ascii: "e"), UInt8(ascii: "E"):
                    exponent = Self.clampedInt(text[(index + 1)...])
                    finish(integerDigits: integerDigits, exponent: exponent)
                    return
                default: digits.append(byte)
                }
            }
            finish(integerDigits: integerDigits, exponent: exponent)
        }

        private mutating func finish(integerDigits: Int?, exponent: Int) {
            point = (integerDigits ?? digits.count) + exponent
            let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
            digits.removeFirst(leading)
            point -= leading
            while digits.last == UInt8(ascii: "0") { digits.removeLast() }
            if digits.isEmpty { point = 0 }
        }

        // An exponent of any length is valid JSON. Beyond this bound no digits of a text of 1 GiB make up for it: every
        // double is zero or infinite.
        private static func clampedInt(_ text: ArraySlice<UInt8>) -> Int {
            let bound = 1 << 40
            let value = Int(String(decoding: text, as: UTF8.self))
            return min(max(value ?? (text.first == UInt8(ascii: "-") ? -bound : bound), -bound), bound)
        }
    }
}
