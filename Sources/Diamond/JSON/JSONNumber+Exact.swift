/// Numbers without loss: as an `Int64`, as a double whose shortest digits are the same number, or else as text.
extension JSONNumber {
    /// Returns the value of a number in JSON syntax; `nil` if no double is as large, or the exponent has no use.
    static func value(of text: UnsafeRawBufferPointer) -> JSONValue? {
        if let quick = QuickDouble(text), quick.digits <= 15, quick.double.magnitude <= 0x1p53 {
            // A double represents any 15 digits.
            return JSONValue.number(quick.double).normalized
        }
        let string = String(decoding: text, as: UTF8.self)
        if let integer = Int64(string) { return .integer(integer) }
        guard let double = Double(string), double.isFinite else { return nil }
        // A zero with an exponent may be a number that is smaller than any double.
        let isZero = double == 0 && !text.contains { $0 | 0x20 == UInt8(ascii: "e") }
        let isSmall = isZero || (1e-290...0x1p53).contains(double.magnitude)
        if isSmall, text.count <= 16 || double.description == string { return JSONValue.number(double).normalized }
        return exactValue(of: text, nearest: double)
    }

    /// Returns the value of a number in JSON syntax.
    static func value(of text: String) -> JSONValue? {
        text.withBytes { $0.withUnsafeBytes { value(of: $0) } }
    }

    /// Returns the nearest double to a number in JSON syntax; `nil` if none is as large.
    static func double(of text: UnsafeRawBufferPointer) -> Double? {
        if let quick = QuickDouble(text) { return quick.double }
        return Double(String(decoding: text, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
    }

    private static func exactValue(of text: UnsafeRawBufferPointer, nearest double: Double) -> JSONValue? {
        let isNegative = text.first == UInt8(ascii: "-")
        let unsigned = Array(text.dropFirst(isNegative ? 1 : 0))
        let decimal = Decimal(parsing: unsigned)
        guard !decimal.digits.isEmpty else { return .integer(0) }
        guard decimal.point > -100_000 else { return nil }
        let exact = (isNegative ? "-" : "") + String(decoding: decimal.text, as: UTF8.self)
        if let integer = Int64(exact) { return .integer(integer) }
        // ECMAScript writes up to 21 digits of an integer. A longer one may be a double in another form.
        let isInteger = unsigned.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let isShortInteger = isInteger && decimal.point <= 21
        if !isShortInteger, Decimal(parsing: Array(double.magnitude.description.utf8)) == decimal {
            return .number(double)
        }
        return .fragment(JSONFragment(number: exact))
    }

    /// Returns the digits of a double without a fraction; otherwise `nil`. Beyond the range of `Int64` a double stands
    /// for the number with its shortest digits, as it is written.
    static func integerText(of double: Double) -> String? {
        guard double.isFinite, double == double.rounded() else { return nil }
        if let integer = Int64(exactly: double) { return String(integer) }
        let decimal = Decimal(parsing: Array(double.magnitude.description.utf8))
        return (double < 0 ? "-" : "") + String(decoding: decimal.text, as: UTF8.self)
    }
}

extension JSONNumber.Decimal {
    var isInteger: Bool { point >= digits.count }

    /// The number in JSON syntax with all its digits. An integer has no exponent.
    var text: [UInt8] {
        let zero = UInt8(ascii: "0")
        if digits.isEmpty { return [zero] }
        if isInteger { return digits + Array(repeating: zero, count: point - digits.count) }
        if point > 0 { return digits[..<point] + [UInt8(ascii: ".")] + digits[point...] }
        if point > -6 { return Array("0.".utf8) + Array(repeating: zero, count: -point) + digits }
        return scientificText
    }

    /// The number in JSON syntax with one digit before the point, and an exponent with its sign.
    var scientificText: [UInt8] {
        let fraction = digits.count > 1 ? [UInt8(ascii: ".")] + digits.dropFirst() : []
        return digits.prefix(1) + fraction + Array("e\(point > 0 ? "+" : "")\(point - 1)".utf8)
    }
}

extension JSONValue {
    /// The value in one form for equal values: also one for an integer beyond `Int64` and the double that is written
    /// with the same digits.
    var comparable: JSONValue {
        guard case .number(let double) = self else { return self }
        if let integer = Int64(exactly: double) { return .integer(integer) }
        guard (0x1p63..<1e21).contains(double.magnitude), let text = JSONNumber.integerText(of: double) else {
            return self
        }
        return .fragment(JSONFragment(number: text))
    }
}
