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
