/// The encoding of arrays and objects in the parameters of a query or a form. Text, numbers and Booleans are always
/// written as they are, and `null` as a name without a value.
///
/// | value | `[1, 2]` | `{"b": 1}` |
/// |---|---|---|
/// | `repeated` | `a=1&a=2` | |
/// | `brackets` | `a[]=1&a[]=2` | `a[b]=1` |
/// | `comma` | `a=1,2` | |
/// | `json` | `a=[1,2]` | `a={"b":1}` |
///
/// Brackets, quotes and other characters that need it are percent-encoded on the wire. An empty array or object sends
/// nothing with `repeated` and `brackets`, an empty value with `comma`, and `[]` or `{}` with `json`.
public struct ParameterEncoding: Hashable, Sendable {
    /// The forms of an array.
    public enum Arrays: String, Hashable, Sendable, CaseIterable {
        case repeated, brackets, comma, json
    }

    /// The forms of an object.
    public enum Objects: String, Hashable, Sendable, CaseIterable {
        case brackets, json
    }

    /// The form of arrays; `repeated` by default.
    public var arrays: Arrays
    /// The form of objects; `brackets` by default.
    public var objects: Objects

    /// Creates an encoding; ``standard`` by default.
    public init(arrays: Arrays = .repeated, objects: Objects = .brackets) {
        self.arrays = arrays
        self.objects = objects
    }

    /// `a=1&a=2` and `a[b]=1`.
    public static let standard = ParameterEncoding()
}

extension Parameters {
    /// Returns the parameters as items of a query or a form, in order.
    package func items(_ encoding: ParameterEncoding) throws(RequestError) -> QueryItems {
        var items = QueryItems()
        try append(to: &items, using: encoding)
        return items
    }

    func append(to items: inout QueryItems, using encoding: ParameterEncoding) throws(RequestError) {
        // Read in place, because copying an element costs reference counting.
        let elements = elements.span
        for index in elements.indices {
            try items.append(elements[index], using: encoding)
        }
    }
}

extension QueryItems {
    fileprivate mutating func append(
        _ parameter: Parameters.Element,
        using encoding: ParameterEncoding
    ) throws(RequestError) {
        try append(parameter.value, named: parameter.name, using: encoding)
    }

    private mutating func append(
        _ value: JSONValue,
        named name: String,
        using encoding: ParameterEncoding
    ) throws(RequestError) {
        switch value {
        case .array(let values): try append(values, named: name, using: encoding)
        case .object(let members): try append(members, named: name, using: encoding)
        case .null: append(encoding: name)
        case .string(let text): append(encoding: name, value: text)
        case .integer(let integer): append(encoding: name, value: integer)
        default: try append(name) { (bytes) throws(RequestError) in try value.append(to: &bytes) }
        }
    }

    private mutating func append(
        _ values: [JSONValue],
        named name: String,
        using encoding: ParameterEncoding
    ) throws(RequestError) {
        switch encoding.arrays {
        case .repeated: for value in values { try append(value, named: name, using: encoding) }
        case .brackets: for value in values { try append(value, named: name + "[]", using: encoding) }
        case .comma:
            try append(name) { (bytes) throws(RequestError) in try Self.join(values, named: name, into: &bytes) }
        case .json: try append(json: .array(values), named: name)
        }
    }

    private mutating func append(
        _ members: [String: JSONValue],
        named name: String,
        using encoding: ParameterEncoding
    ) throws(RequestError) {
        guard encoding.objects == .brackets else { return try append(json: .object(members), named: name) }
        for member in members.sorted(by: { $0.key < $1.key }) {
            try append(member.value, named: "\(name)[\(member.key)]", using: encoding)
        }
    }

    private mutating func append(json value: JSONValue, named name: String) throws(RequestError) {
        try append(name) { (bytes) throws(RequestError) in bytes += PercentEncoding.encode(try value.written()) }
    }

    private mutating func append(
        _ name: String,
        value write: (inout [UInt8]) throws(RequestError) -> Void
    ) throws(RequestError) {
        try append { (bytes) throws(RequestError) in
            bytes += PercentEncoding.encode(name.utf8)
            bytes.append(UInt8(ascii: "="))
            try write(&bytes)
        }
    }

    /// Appends the values separated by bare commas. A comma inside a value is percent-encoded.
    private static func join(_ values: [JSONValue], named name: String, into bytes: inout [UInt8]) throws(RequestError)
    {
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            guard value.isScalar else {
                let message =
                    "the parameter '\(name)' contains \(value.kind), which commas cannot join: encode arrays as json"
                throw RequestError(.malformedParameter, message)
            }
            try value.append(to: &bytes)
        }
    }
}

extension JSONValue {
    /// Whether the value can be joined by commas.
    fileprivate var isScalar: Bool {
        switch self {
        case .null, .array, .object: false
        default: true
        }
    }

    /// Appends text, a number or a Boolean, percent-encoded.
    fileprivate func append(to bytes: inout [UInt8]) throws(RequestError) {
        switch self {
        case .string(let text): bytes += PercentEncoding.encode(text.utf8)
        case .integer(let integer): bytes.append(decimal: integer)
        default: bytes += PercentEncoding.encode(try written())
        }
    }
}
