package import Foundation

extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = JSONValue(value)
        } else if let value = try? container.decode(Double.self) {
            self = Self.exact(value, in: container)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else if let value = (try? container.decode(Decimal.self)).flatMap({ JSONValue($0) }) {
            // A property list contains a decimal number as a dictionary.
            self = value
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Returns the number that a decoder has rounded to a double, or the double if `Decimal` cannot hold the number.
    private static func exact(_ double: Double, in container: any SingleValueDecodingContainer) -> JSONValue {
        let isWhole = double == double.rounded()
        guard !isWhole || double.magnitude > 0x1p53 else { return .number(double) }
        if isWhole, let integer = try? container.decode(UInt128.self) { return JSONValue(integer) }
        if isWhole, let integer = try? container.decode(Int128.self) { return JSONValue(integer) }
        guard let decimal = try? container.decode(Decimal.self),
            // The type holds 38 digits, and rounds more.
            decimal.significand.description.utf8.count < 38,
            let value = JSONValue(decimal)
        else { return .number(double) }
        return value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch normalized {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        case .fragment(let value): try encode(value, to: &container)
        }
    }

    private func encode(_ part: JSONFragment, to container: inout any SingleValueEncodingContainer) throws {
        if let integer = UInt64(part.text) { return try container.encode(integer) }
        guard let decimal = Decimal(exactly: self) else {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: container.codingPath,
                    debugDescription: "an encoder cannot write \(kind) as it was read: write its JSON text"))
        }
        try container.encode(decimal)
    }
}

extension JSONValue {
    /// The value as every encoder can write it: without the objects that have a ``fault``, and with the nearest double
    /// for a number of more than 38 digits. `nil` for an object that has a fault.
    package var encodable: JSONValue? {
        switch self {
        case .array(let values): .array(values.compactMap(\.encodable))
        case .object(let members): .object(members.compactMapValues(\.encodable))
        case .fragment(let part): part.fault == nil ? roundedForEncoder(part.text) : nil
        default: self
        }
    }

    private func roundedForEncoder(_ text: String) -> JSONValue? {
        if UInt64(text) != nil || Decimal(exactly: self) != nil { return self }
        return Double(text).map(JSONValue.number)
    }
}

extension Foundation.Decimal {
    /// Creates the number in JSON; `nil` if it has more than the 38 digits that the type holds, and for other JSON.
    package init?(exactly json: JSONValue) {
        guard let text = json.numberText, let decimal = Foundation.Decimal(string: text),
            JSONValue(decimal) == json
        else { return nil }
        self = decimal
    }
}

extension JSONValue {
    /// Creates a number; `nil` if it is not finite.
    package init?(_ decimal: Foundation.Decimal) {
        guard decimal.isFinite, let value = JSONNumber.value(of: decimal.description) else {
            return nil
        }
        self = value
    }
}
