import Foundation

extension TapeDecoder {
    @inline(__always)
    func integer<T: FixedWidthInteger>(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> T {
        guard element.kind == .number else { throw mismatch(T.self, found: element, at: place()) }
        if element.isShortInteger, let value = T(exactly: element.shortInteger) { return value }
        return try wideInteger(element)
    }

    /// Returns an integer that does not fit `Int64`, or that is written with a fraction or exponent (`1.0`, `2e3`).
    private func wideInteger<T: FixedWidthInteger>(_ element: JSONElement) throws -> T {
        if let value = T(String(decoding: element.text, as: UTF8.self)) { return value }
        guard let double = element.double(), let value = T(exactly: double) else { throw Unrepresentable() }
        guard double.magnitude < 0x1p53 else { throw text.undecided() }
        return value
    }

    func double(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> Double {
        guard element.kind == .number else { return try namedValue(element, at: place()) }
        guard let value = element.double() else { throw Unrepresentable() }
        return try checked(value, of: element)
    }

    func float(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> Float {
        guard element.kind == .number else { return try namedValue(element, at: place()) }
        guard let value = Float(String(decoding: element.text, as: UTF8.self)) else { throw Unrepresentable() }
        return try checked(value, of: element)
    }

    /// Returns a value that was not rounded to infinity or zero. `JSONDecoder` refuses some zeros with an exponent.
    @inline(__always)
    private func checked<T: BinaryFloatingPoint>(_ value: T, of element: JSONElement) throws -> T {
        guard value.isFinite else { throw Unrepresentable() }
        guard value != 0 || element.isPlainZero else { throw text.undecided() }
        return value
    }

    /// Returns the value that the strategy for non-conforming numbers gives to a string.
    private func namedValue<T: BinaryFloatingPoint>(_ element: JSONElement, at place: Place) throws -> T {
        guard element.kind == .string,
            case .convertFromString(let infinity, let negative, let nan) = text.settings.floats
        else { throw mismatch(T.self, found: element, at: place) }
        let string = try string(element, at: place)
        let value: T? =
            string.hasBytes(of: infinity)
            ? .infinity
            : string.hasBytes(of: negative) ? -.infinity : string.hasBytes(of: nan) ? .nan : nil
        // `JSONDecoder` compares the text as it is written.
        if !element.isPlain { throw text.undecided() }
        guard let value else { throw mismatch(T.self, found: element, at: place) }
        return value
    }

    func decimal(_ element: JSONElement, at place: @autoclosure () -> Place) throws -> Decimal {
        guard element.kind == .number else { throw mismatch(Decimal.self, found: element, at: place()) }
        let digits = element.text
        // Longer numbers are rounded.
        guard digits.count <= 36, !digits.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }),
            let value = Decimal(string: String(decoding: digits, as: UTF8.self))
        else { throw text.undecided() }
        return value
    }
}

extension JSONElement {
    /// Whether a number has no digit other than zero, and no exponent.
    fileprivate var isPlainZero: Bool { text.allSatisfy { $0 <= UInt8(ascii: "0") } }
}

extension String {
    fileprivate func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
