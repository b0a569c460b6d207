/// A part of a JSON text that a ``JSONValue`` keeps as text: a number that neither `Int64` nor a double represents
/// exactly, or an object that two readers could read differently.
///
/// It is written as it is. An object is kept like this only where models read lists.
public struct JSONFragment: Sendable {
    /// The JSON text. A number has one form for all equal numbers.
    public let text: String
    /// The reason why the object is not read; `nil` for a number.
    package let fault: String?

    /// Creates a number. Only ``JSONNumber`` does, so that equal numbers have equal texts.
    init(number text: String) {
        self.text = text
        fault = nil
    }

    /// Creates an object that cannot be read.
    init(object text: String, fault: String) {
        self.text = text
        self.fault = fault
    }
}

extension JSONFragment: Hashable {
    /// Whether the texts are equal to the byte.
    public static func == (one: JSONFragment, other: JSONFragment) -> Bool { one.text.isExactly(other.text) }

    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension JSONValue {
    /// Creates a number from its JSON text; `nil` if no double is as large. The text must be a number.
    package init?(number text: String) {
        guard let value = JSONNumber.value(of: text) else { return nil }
        self = value
    }

    /// The reason why this object is not read; `nil` for other values.
    package var fault: String? { if case .fragment(let part) = self { part.fault } else { nil } }

    /// The decimal digits of a number without a fraction; `nil` for other values.
    package var integerText: String? {
        switch self {
        case .integer(let integer): String(integer)
        case .number(let double): JSONNumber.integerText(of: double)
        case .fragment(let part): part.fault == nil && part.text.utf8.allSatisfy(\.isOfInteger) ? part.text : nil
        default: nil
        }
    }

    /// The text of a number; `nil` for other values.
    package var numberText: String? {
        switch self {
        case .integer(let integer): String(integer)
        case .number(let double): JSONNumber.text(of: double).map { String(decoding: $0, as: UTF8.self) }
        case .fragment(let part): part.fault == nil ? part.text : nil
        default: nil
        }
    }
}

extension UInt8 {
    fileprivate var isOfInteger: Bool {
        self == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }
}
