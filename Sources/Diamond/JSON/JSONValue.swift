/// A JSON value (RFC 8259), used in parameters and bodies.
///
/// `.integer(2)` and `.number(2.0)` are equal, have the same hash and are written alike. Strings and names are compared
/// byte by byte, not by Unicode equivalence. An object's members have no order; they are written sorted by name.
///
/// A member is read by its name, and an element by its index: `json.user.name`, `json["user"]["name"]`, `json.tags[0]`.
/// What is absent is `null`.
@dynamicMemberLookup
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A finite number. A number that is not finite is refused when the value is sent.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
    /// A number that neither `Int64` nor a double represents exactly, or an object that models cannot read.
    // Indirect, so that every other value takes 24 bytes and not 40.
    indirect case fragment(JSONFragment)
}

extension JSONValue {
    /// The member of an object; `null` if the value is no object, or has no such member.
    // Disfavored, so that a subscript that an app has written itself is not ambiguous.
    @_disfavoredOverload
    public subscript(name: String) -> JSONValue {
        // A dictionary compares names by Unicode equivalence.
        guard case .object(let members) = self, let index = members.index(forKey: name),
            members[index].key.isExactly(name)
        else { return .null }
        return members[index].value
    }

    /// The element of an array; `null` if the value is no array, or has no such element.
    public subscript(index: Int) -> JSONValue {
        guard case .array(let values) = self, values.indices.contains(index) else { return .null }
        return values[index]
    }

    /// The member of an object, as ``subscript(_:)-(String)`` returns it. Names that the type itself has, such as
    /// `description` and `number`, need that subscript.
    public subscript(dynamicMember name: String) -> JSONValue { self[name] }
}

extension JSONValue {
    /// Creates a string from a variable. Literals need no conversion.
    package init(_ text: String) { self = .string(text) }

    /// Creates a Boolean from a variable.
    package init(_ bool: Bool) { self = .bool(bool) }

    /// Creates a number from a variable. A number that is not finite is refused when the value is sent.
    package init(_ number: Double) { self = .number(number) }

    /// Creates an integer from a variable. One beyond the range of `Int64` keeps its digits, too.
    package init(_ integer: some BinaryInteger) {
        self =
            Int64(exactly: integer).map(JSONValue.integer)
            ?? JSONNumber.value(of: String(integer)) ?? .number(Double(integer))
    }

    /// Creates an array from a variable.
    package init(_ values: [JSONValue]) { self = .array(values) }
}

extension JSONValue {
    /// The value in one form for equal numbers: a number without a fraction is an integer.
    var normalized: JSONValue {
        guard case .number(let double) = self, let integer = Int64(exactly: double) else { return self }
        return .integer(integer)
    }

    /// Whether arrays and objects are nested more deeply than a number of levels.
    func isDeeper(than levels: Int) -> Bool {
        switch self {
        case .array(let values): levels == 0 || values.contains { $0.isDeeper(than: levels - 1) }
        case .object(let members): levels == 0 || members.values.contains { $0.isDeeper(than: levels - 1) }
        default: false
        }
    }

    /// Whether an object in the value has a ``fault``.
    var hasFault: Bool {
        switch self {
        case .array(let values): values.contains(where: \.hasFault)
        case .object(let members): members.values.contains(where: \.hasFault)
        default: fault != nil
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
        case .fragment(let part): part.fault == nil ? "a number" : "an object that readers could read differently"
        }
    }

    /// The ``kind`` for other targets, where `kind` is a member of the value.
    package var kindName: String { kind }
}

extension JSONValue: Hashable {
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left.comparable, right.comparable) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.isExactly(b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a.isExactly(b)
        case (.fragment(let a), .fragment(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch comparable {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        case .fragment(let value): hasher.combine(value)
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
    /// Creates an object. The last of several members with the same name counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension JSONValue: CustomStringConvertible {
    /// The JSON text, with sorted members. For a number that is not finite, it is the number's description.
    public var description: String {
        if case .number(let number) = self, !number.isFinite { return "\(number)" }
        guard let text = try? JSONWriter.text(of: self) else { return kind }
        return String(decoding: text, as: UTF8.self)
    }
}
