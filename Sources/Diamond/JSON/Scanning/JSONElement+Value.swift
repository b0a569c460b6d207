// MARK: Numbers

extension JSONElement {
    /// Returns the value of a number without a fraction, whatever its form (`1e3`); `nil` beyond the range, and for
    /// other values.
    @inlinable
    package func integer() -> Int64? { isShortInteger ? shortInteger : longInteger() }

    /// Returns the value of a number without a fraction, whatever its form; `nil` beyond the range, and for other
    /// values.
    @inlinable
    package func unsigned() -> UInt64? {
        isShortInteger ? UInt64(exactly: shortInteger) : longUnsigned()
    }

    /// Returns the nearest double to a number; `nil` if none is as large, and for other values.
    package func double() -> Double? {
        guard kind == .number else { return nil }
        return isShortInteger ? shortDouble : JSONNumber.double(of: text)
    }

    /// Whether it is an integer of at most 18 digits, without fraction and exponent.
    @inlinable package var isShortInteger: Bool { entry.pointee.tag & 15 == 3 | JSONEntry.shortInteger }

    @inlinable package var shortInteger: Int64 {
        let text = text
        let isNegative = text[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        for index in (isNegative ? 1 : 0)..<text.count {
            value = value &* 10 &+ Int64(truncatingIfNeeded: text[index] &- UInt8(ascii: "0"))
        }
        return isNegative ? 0 &- value : value
    }

    /// The double of a short integer. Zero keeps its sign.
    private var shortDouble: Double {
        let integer = shortInteger
        return integer == 0 && text[0] == UInt8(ascii: "-") ? -0.0 : Double(integer)
    }

    @usableFromInline
    package func longInteger() -> Int64? { integerText.flatMap { Int64($0) } }

    @usableFromInline
    package func longUnsigned() -> UInt64? { integerText.flatMap { UInt64($0) } }

    private var integerText: String? { kind == .number ? JSONNumber.value(of: text)?.integerText : nil }
}

extension JSONValue {
    /// Creates a value from a JSON text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - isolatesFaults: Whether the innermost object that two readers could read differently, or that is nested too
    ///     deeply, is kept as text with its ``fault``, or the element of the outermost array. Without it, the whole
    ///     text is refused.
    ///   - maximumDepth: The maximum nesting depth.
    /// - Throws: `malformed` or `ambiguous`, with line and column.
    package init(
        reading text: some Sequence<UInt8>, isolatesFaults: Bool = false, maximumDepth: Int = JSONTape.maximumDepth
    ) throws(JSONError) {
        let result = text.withContiguousBytes { bytes in
            Result { () throws(JSONError) in
                let tape = try JSONTape(
                    scanning: bytes, ambiguities: isolatesFaults ? .isolated : .refused, maximumDepth: maximumDepth)
                var builder = JSONValueBuilder(shapeCount: tape.shapeCount)
                return withExtendedLifetime(tape) { builder.value(of: tape.root) }
            }
        }
        self = try result.get()
    }
}

extension Sequence<UInt8> {
    /// Calls `body` with the bytes, which are copied only if they are not in one piece.
    func withContiguousBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        return Array(self).withUnsafeBytes(body)
    }
}
