/// How arrays and objects among the parameters stand in a query or a form. Text, numbers and booleans always stand as
/// they are, `null` as a name without a value.
///
/// | value | `[1, 2]` | `{"b": 1}` |
/// |---|---|---|
/// | `repeated` | `a=1&a=2` | |
/// | `brackets` | `a[]=1&a[]=2` | `a[b]=1` |
/// | `comma` | `a=1,2` | |
/// | `json` | `a=[1,2]` | `a={"b":1}` |
///
/// Brackets, quotes and what else has to be is percent-encoded on the wire. An empty array or object sends nothing by
/// `repeated` and `brackets`, an empty value by `comma`, and `[]` or `{}` by `json`.
public struct ParameterEncoding: Hashable, Sendable {
    /// How an array stands.
    public enum Arrays: String, Hashable, Sendable, CaseIterable {
        case repeated, brackets, comma, json
    }

    /// How an object stands.
    public enum Objects: String, Hashable, Sendable, CaseIterable {
        case brackets, json
    }

    public var arrays: Arrays
    public var objects: Objects

    public init(arrays: Arrays = .repeated, objects: Objects = .brackets) {
        self.arrays = arrays
        self.objects = objects
    }

    /// `a=1&a=2` and `a[b]=1`.
    public static let standard = ParameterEncoding()
}

extension Parameters {
    /// The parameters as items of a query or a form, in their order.
    func items(_ encoding: ParameterEncoding) throws(RequestError) -> [QueryItem] {
        var writer = ItemWriter(encoding: encoding)
        for element in self { try writer.add(element.value, named: element.name) }
        return writer.items
    }
}

private struct ItemWriter {
    let encoding: ParameterEncoding
    var items: [QueryItem] = []

    mutating func add(_ value: JSONValue, named name: String) throws(RequestError) {
        switch value {
        case .array(let values): try add(values, named: name)
        case .object(let members): try add(members, named: name)
        default: append(name, try Self.scalar(value))
        }
    }

    private mutating func add(_ values: [JSONValue], named name: String) throws(RequestError) {
        switch encoding.arrays {
        case .repeated: for value in values { try add(value, named: name) }
        case .brackets: for value in values { try add(value, named: name + "[]") }
        case .comma: append(name, try joined(values, name))
        case .json: append(name, PercentEncoding.encode(try JSONValue.array(values).written()))
        }
    }

    private mutating func add(_ members: [String: JSONValue], named name: String) throws(RequestError) {
        guard encoding.objects == .brackets else {
            return append(name, PercentEncoding.encode(try JSONValue.object(members).written()))
        }
        for member in members.sorted(by: { $0.key < $1.key }) {
            try add(member.value, named: "\(name)[\(member.key)]")
        }
    }

    private mutating func append(_ name: String, _ value: [UInt8]?) {
        items.append(QueryItem(name: PercentEncoding.encode(name.utf8), value: value))
    }

    /// Bare commas between the values, so that an encoded one inside a value divides nothing.
    private func joined(_ values: [JSONValue], _ name: String) throws(RequestError) -> [UInt8] {
        var joined: [UInt8] = []
        for (index, value) in values.enumerated() {
            if index > 0 { joined.append(UInt8(ascii: ",")) }
            guard value.isScalar, let bytes = try Self.scalar(value) else {
                let message =
                    "the parameter '\(name)' holds \(value.kind), which commas cannot join: encode arrays as json"
                throw RequestError(.malformedParameter, message)
            }
            joined += bytes
        }
        return joined
    }

    /// `nil` for `null`.
    private static func scalar(_ value: JSONValue) throws(RequestError) -> [UInt8]? {
        switch value {
        case .null: nil
        case .string(let text): PercentEncoding.encode(text.utf8)
        default: PercentEncoding.encode(try value.written())
        }
    }
}

extension JSONValue {
    fileprivate var isScalar: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }
}
