public import Diamond

/// A value that a property can hold without a codec.
///
/// Numbers, Booleans, strings, `JSONValue`, `Date`, `Decimal`, `URL`, `UUID`, and arrays and string dictionaries of
/// such values conform. A property may also hold a value with such a raw value, and arrays and string dictionaries of
/// them: an enum needs no conformance. A property of an optional value is declared with `Property(nullable:)`.
public protocol ModelValue: Equatable, SendableMetatype {
    /// Creates the value from JSON, or returns `nil` for JSON of another type.
    init?(json: JSONValue)

    /// Creates the value from JSON, and records the parts that it leaves out.
    init?(json: JSONValue, repairs: inout RepairLog)

    /// The value as JSON.
    var json: JSONValue { get }
}

extension ModelValue {
    @inlinable
    public init?(json: JSONValue, repairs: inout RepairLog) { self.init(json: json) }
}

extension String: ModelValue {
    @inlinable
    public init?(json: JSONValue) {
        guard case .string(let text) = json else { return nil }
        self = text
    }

    public var json: JSONValue { .string(self) }
}

extension Bool: ModelValue {
    @inlinable
    public init?(json: JSONValue) {
        guard case .bool(let value) = json else { return nil }
        self = value
    }

    public var json: JSONValue { .bool(self) }
}

extension Double: ModelValue {
    @inlinable
    public init?(json: JSONValue) {
        switch json {
        case .number(let number): self = number
        case .integer(let integer): self = Double(integer)
        default:
            guard let double = Double(nearest: json) else { return nil }
            self = double
        }
    }

    /// Creates the double that is nearest to a number with more digits.
    @usableFromInline
    init?(nearest json: JSONValue) {
        guard let double = json.numberText.flatMap({ Double($0) }), double.isFinite else { return nil }
        self = double
    }

    public var json: JSONValue { isFinite ? .number(self) : .null }
}

extension Float: ModelValue {
    /// Creates the nearest number, or returns `nil` if the JSON is larger than any.
    @inlinable
    public init?(json: JSONValue) {
        guard let double = Double(json: json) else { return nil }
        self.init(double)
        if isInfinite { return nil }
    }

    public var json: JSONValue { isFinite ? .number(Double(self)) : .null }
}

extension JSONValue: ModelValue {
    public init?(json: JSONValue) { self = json }
    public var json: JSONValue { self }
}

extension ModelValue where Self: FixedWidthInteger {
    /// Creates the integer from a JSON number without a fraction, or returns `nil` if the type cannot represent it.
    @inlinable
    public init?(json: JSONValue) {
        switch json {
        case .integer(let integer): self.init(exactly: integer)
        default:
            guard let text = json.digits else { return nil }
            self.init(text)
        }
    }

    public var json: JSONValue { JSONValue(self) }
}

extension JSONValue {
    /// The digits of a number without a fraction; `nil` for other values.
    @usableFromInline var digits: String? { integerText }
}

extension Int: ModelValue, TextReadable, TextWritable {}
extension Int8: ModelValue, TextReadable, TextWritable {}
extension Int16: ModelValue, TextReadable, TextWritable {}
extension Int32: ModelValue, TextReadable, TextWritable {}
extension Int64: ModelValue, TextReadable, TextWritable {}
extension UInt: ModelValue, TextReadable, TextWritable {}
extension UInt8: ModelValue, TextReadable, TextWritable {}
extension UInt16: ModelValue, TextReadable, TextWritable {}
extension UInt32: ModelValue, TextReadable, TextWritable {}
extension UInt64: ModelValue, TextReadable, TextWritable {}

extension ModelValue where Self: RawRepresentable, RawValue: ModelValue {
    /// Creates the value with a raw value, or returns `nil` if there is none.
    public init?(json: JSONValue) {
        guard let raw = RawValue(json: json) else { return nil }
        self.init(rawValue: raw)
    }

    public var json: JSONValue { rawValue.json }
}

extension ModelValue where Self: RawRepresentable, RawValue == String {
    /// Creates the value with a raw value, or returns `nil` if there is none.
    ///
    /// A raw value that is equal to the text, but has other bytes, does not count. A type may normalize its text, for
    /// example to lowercase.
    public init?(json: JSONValue) {
        guard case .string(let text) = json else { return nil }
        self.init(rawValue: text)
        if rawValue == text, !rawValue.isExactly(text) { return nil }
    }
}

extension Array: ModelValue where Element: ModelValue {
    public init?(json: JSONValue) {
        var repairs = RepairLog()
        self.init(json: json, repairs: &repairs)
    }

    /// Creates the array. Leaves out elements of another type, and records them.
    public init?(json: JSONValue, repairs: inout RepairLog) {
        guard let elements = repairs.elements(in: json, read: { Element(json: $0, repairs: &$1) }) else { return nil }
        self = elements
    }

    public var json: JSONValue { .array(map(\.json)) }
}

extension Dictionary: ModelValue where Key == String, Value: ModelValue {
    public init?(json: JSONValue) {
        var repairs = RepairLog()
        self.init(json: json, repairs: &repairs)
    }

    /// Creates the dictionary. Leaves out members of another type, and records them.
    public init?(json: JSONValue, repairs: inout RepairLog) {
        guard let members = repairs.members(in: json, read: { Value(json: $0, repairs: &$1) }) else { return nil }
        self = members
    }

    public var json: JSONValue { .object(mapValues(\.json)) }
}

extension RepairLog {
    /// Returns the elements of an array that `read` accepts, and records the others; `nil` for other JSON.
    mutating func elements<Element>(
        in json: JSONValue, read: (JSONValue, inout RepairLog) -> Element?
    ) -> [Element]? {
        guard case .array(let values) = json else { return nil }
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            within("[\(index)]", found: value) { read(value, &$0) }.map { elements.append($0) }
        }
        return elements
    }

    /// Returns the members of an object that `read` accepts, and records the others; `nil` for other JSON.
    mutating func members<Value>(
        in json: JSONValue, read: (JSONValue, inout RepairLog) -> Value?
    ) -> [String: Value]? {
        guard case .object(let values) = json else { return nil }
        var members: [String: Value] = [:]
        for (name, value) in values { members[name] = within(".\(name)", found: value) { read(value, &$0) } }
        return members
    }
}
