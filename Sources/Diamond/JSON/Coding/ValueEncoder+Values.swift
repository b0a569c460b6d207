import Foundation

extension ValueEncoder {
    /// Returns an encoded value; an empty object for a type that encodes nothing.
    func value<T: Encodable>(of value: T, at place: @autoclosure () -> CodingPlace?) throws -> JSONValue {
        try valueIfAny(of: value, at: place()) ?? .object([:])
    }

    /// Returns an encoded value; `nil` for a type that encodes nothing.
    func valueIfAny<T: Encodable>(of value: T, at place: @autoclosure () -> CodingPlace?) throws -> JSONValue? {
        if T.self == String.self { return .string(same(value)) }
        if T.self == Int.self { return integer(same(value) as Int) }
        if T.self == Double.self { return try number(same(value) as Double) }
        if T.self == Date.self { return try date(same(value), at: place()) }
        if T.self == URL.self { return .string((same(value) as URL).absoluteString) }
        if T.self == Data.self { return try data(same(value), at: place()) }
        if T.self == Decimal.self { return try number(writtenAs: (same(value) as Decimal).description) }
        if settings.convertsKeys, let dictionary = value as? any NamedValues {
            return try dictionary.encode(with: self, at: place())
        }
        return try encoding(at: place()) { try value.encode(to: $0) }
    }

    /// Returns a value whose type was found to be `Value`.
    @inline(__always)
    private func same<T, Value>(_ value: T) -> Value { unsafeBitCast(value, to: Value.self) }

    @inline(__always)
    func integer(_ integer: some FixedWidthInteger) -> JSONValue {
        Int64(exactly: integer).map(JSONValue.integer) ?? JSONValue(integer)
    }

    @inline(__always)
    func number(_ double: Double) throws -> JSONValue {
        if double.magnitude <= 0x1p53 { return JSONValue.number(double).normalized }
        return try text(of: double)
    }

    func number(_ float: Float) throws -> JSONValue { try text(of: float) }

    /// Returns the value of the text of a number, which for a large one differs from its exact value.
    private func text(of value: some BinaryFloatingPoint & LosslessStringConvertible) throws -> JSONValue {
        if value.isFinite { return try number(writtenAs: value.description) }
        guard case .convertToString(let infinity, let negative, let nan) = settings.floats else { throw undecided() }
        return .string(value.isNaN ? nan : value > 0 ? infinity : negative)
    }

    private func number(writtenAs text: String) throws -> JSONValue {
        guard let value = JSONNumber.value(of: text) else { throw undecided() }
        return value
    }

    /// Returns the value of a number of a date, for which the strategy for non-conforming numbers does not count.
    private func number(finite double: Double) throws -> JSONValue {
        guard double.isFinite else { throw undecided() }
        return try number(double)
    }

    private func date(_ date: Date, at place: CodingPlace?) throws -> JSONValue? {
        switch settings.dates {
        case .deferredToDate: return try encoding(at: place) { try date.encode(to: $0) }
        case .secondsSince1970: return try number(finite: date.timeIntervalSince1970)
        case .millisecondsSince1970: return try number(finite: 1000 * date.timeIntervalSince1970)
        case .iso8601: return .string(Date.ISO8601FormatStyle().format(date))
        #if canImport(Darwin)
        case .formatted(let formatter): return .string(formatter.string(from: date))
        #endif
        case .custom(let encode): return try encoding(at: place) { try encode(date, $0) } ?? .object([:])
        @unknown default: throw undecided()
        }
    }

    private func data(_ data: Data, at place: CodingPlace?) throws -> JSONValue? {
        switch settings.data {
        case .deferredToData: return try encoding(at: place) { try data.encode(to: $0) }
        case .base64: return .string(data.base64EncodedString())
        case .custom(let encode): return try encoding(at: place) { try encode(data, $0) } ?? .object([:])
        @unknown default: throw undecided()
        }
    }
}

/// A dictionary with `String` keys, whose names no key strategy converts.
private protocol NamedValues {
    func encode(with encoder: ValueEncoder, at place: CodingPlace?) throws -> JSONValue
}

extension Dictionary: NamedValues where Key == String, Value: Encodable {
    fileprivate func encode(with encoder: ValueEncoder, at place: CodingPlace?) throws -> JSONValue {
        var members: [String: JSONValue] = [:]
        members.reserveCapacity(count)
        for (name, value) in self {
            members[name] = try encoder.value(of: value, at: CodingPlace(PlaceKey(stringValue: name), in: place))
        }
        return .object(members)
    }
}
