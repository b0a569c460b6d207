public import Foundation

/// A type whose values can be parameters, and members of JSON bodies.
///
/// ```swift
/// enum Order: String, ParameterConvertible { case name, population }
///
/// let parameters: Parameters = ["q": text, "limit": 20, "order": Order.name, "after": cursor]
/// ```
///
/// Text, numbers, Booleans, `UUID`, `URL` and ``JSONValue`` conform, and so do arrays and dictionaries of them. An
/// enumeration with such a raw value only has to declare the conformance. `Date` does not conform, because APIs write
/// dates in several forms: format it first.
public protocol ParameterConvertible {
    /// The value of the parameter.
    var parameterValue: JSONValue { get }
    /// The value in a JSON text. The default is ``parameterValue``.
    var jsonValue: JSONValue { get }
}

extension ParameterConvertible {
    public var jsonValue: JSONValue { parameterValue }
}

extension ParameterConvertible where Self: RawRepresentable, RawValue: ParameterConvertible {
    /// The raw value.
    public var parameterValue: JSONValue { rawValue.parameterValue }
}

extension ParameterConvertible where Self: BinaryInteger {
    /// The integer. An integer outside the range of `Int64` is text, because a number would lose digits.
    public var parameterValue: JSONValue { Int64(exactly: self).map(JSONValue.integer) ?? .string(String(self)) }
    /// The integer with all its digits.
    public var jsonValue: JSONValue { JSONValue(self) }
}

extension JSONValue: ParameterConvertible {
    public var parameterValue: JSONValue { self }
}

extension String: ParameterConvertible {
    public var parameterValue: JSONValue { .string(self) }
}

extension Substring: ParameterConvertible {
    public var parameterValue: JSONValue { .string(String(self)) }
}

extension Bool: ParameterConvertible {
    public var parameterValue: JSONValue { .bool(self) }
}

extension Double: ParameterConvertible {
    public var parameterValue: JSONValue { .number(self) }
}

extension Float: ParameterConvertible {
    /// The shortest number that reads as this one: `0.1`, and not `0.10000000149011612`.
    public var parameterValue: JSONValue { .number(Double(description) ?? Double(self)) }
}

extension Int: ParameterConvertible {}
extension Int8: ParameterConvertible {}
extension Int16: ParameterConvertible {}
extension Int32: ParameterConvertible {}
extension Int64: ParameterConvertible {}
extension UInt: ParameterConvertible {}
extension UInt8: ParameterConvertible {}
extension UInt16: ParameterConvertible {}
extension UInt32: ParameterConvertible {}
extension UInt64: ParameterConvertible {}

extension UUID: ParameterConvertible {
    /// The text of the UUID, in upper case.
    public var parameterValue: JSONValue { .string(uuidString) }
}

extension URL: ParameterConvertible {
    /// The absolute text of the URL.
    public var parameterValue: JSONValue { .string(absoluteString) }
}

extension Array: ParameterConvertible where Element: ParameterConvertible {
    public var parameterValue: JSONValue { .array(map(\.parameterValue)) }
    public var jsonValue: JSONValue { .array(map(\.jsonValue)) }
}

extension Dictionary: ParameterConvertible where Key == String, Value: ParameterConvertible {
    public var parameterValue: JSONValue { .object(mapValues(\.parameterValue)) }
    public var jsonValue: JSONValue { .object(mapValues(\.jsonValue)) }
}

/// JSON values of variables, without naming a case for each.
///
/// ```swift
/// Request("todos", method: .post, body: .json(["title": title, "count": count, "tags": tags, "due": due]))
/// ```
extension JSONValue {
    /// Creates a value from a variable of any type that can be a parameter, such as `[String]`, `UUID`, or an
    /// enumeration with a raw value. `nil` is `null`.
    @_disfavoredOverload
    public init(_ value: (any ParameterConvertible)?) { self = value?.jsonValue ?? .null }

    /// Creates an object from a literal with variables as values: `JSONValue(["name": name, "age": age])`. The value of
    /// `nil` is `null`. The last of several members with the same name counts. In such a literal, a nested literal with
    /// values of several types needs `as JSONValue`.
    @_disfavoredOverload
    public init(_ members: KeyValuePairs<String, (any ParameterConvertible)?>) {
        self = .object(Dictionary(members.map { ($0.key, JSONValue($0.value)) }) { $1 })
    }
}

extension RequestBody {
    /// Returns the JSON body of a literal with variables as values, which it reads as ``JSONValue`` does.
    @_disfavoredOverload
    public static func json(_ members: KeyValuePairs<String, (any ParameterConvertible)?>) -> RequestBody {
        .json(JSONValue(members))
    }
}
