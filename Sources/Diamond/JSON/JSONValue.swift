/// A JSON value (RFC 8259), as parameters and bodies hold it.
///
/// `.integer(2)` and `.number(2.0)` are one value: equal, of one hash, written alike. Texts and names are equal where
/// their bytes are, also where Unicode holds others for the same. An object's members have no order; they are written
/// sorted by name.
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A finite number; one that is not has no JSON and is refused where it would be sent.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}

extension JSONValue {
    /// Text, from a variable; literals stand as they are.
    public init(_ text: String) { self = .string(text) }

    /// A Boolean, from a variable.
    public init(_ bool: Bool) { self = .bool(bool) }

    /// A number, from a variable; one that is not finite is refused where it would be sent.
    public init(_ number: Double) { self = .number(number) }

    /// An integer; one that 64 bits with sign do not hold becomes the nearest number.
    public init(_ integer: some BinaryInteger) {
        self = Int64(exactly: integer).map(JSONValue.integer) ?? .number(Double(integer))
    }

    /// An array, from a variable.
    public init(_ values: [JSONValue]) { self = .array(values) }
}

extension JSONValue {
    /// The integer behind a number without a fraction, so that equal numbers have one form.
    var normalized: JSONValue {
        guard case .number(let double) = self, let integer = Int64(exactly: double) else { return self }
        return .integer(integer)
    }

    /// Whether arrays and objects stand within each other on more levels.
    func isDeeper(than levels: Int) -> Bool {
        switch self {
        case .array(let values): levels == 0 || values.contains { $0.isDeeper(than: levels - 1) }
        case .object(let members): levels == 0 || members.values.contains { $0.isDeeper(than: levels - 1) }
        default: false
        }
    }

    /// The kind of the value, for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: Hashable {
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left.normalized, right.normalized) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.isExactly(b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a.isExactly(b)
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch normalized {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// The last of two members of one name stays.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension JSONValue: CustomStringConvertible {
    /// The JSON text, with members in order; that of a number which has none is the number's.
    public var description: String {
        if case .number(let number) = self, !number.isFinite { return "\(number)" }
        guard let text = try? JSONWriter.text(of: self) else { return kind }
        return String(decoding: text, as: UTF8.self)
    }
}
