/// One `name` or `name=value` of a query or a form, percent-encoded.
struct QueryItem: Hashable {
    var name: [UInt8]
    /// `nil` where there is no `=`.
    var value: [UInt8]?

    var bytes: [UInt8] {
        guard let value else { return name }
        return name + [UInt8(ascii: "=")] + value
    }
}

extension [QueryItem] {
    /// The items joined by `&`, in their order.
    var joinedQuery: [UInt8] { Array<[UInt8]>(map(\.bytes)).joined(separator: [UInt8(ascii: "&")]).map { $0 } }

    /// Sorted by name; values of one name keep their order, which may mean something to the server.
    var stablySorted: [QueryItem] {
        enumerated().sorted {
            $0.element.name == $1.element.name
                ? $0.offset < $1.offset
                : $0.element.name.lexicographicallyPrecedes($1.element.name)
        }.map(\.element)
    }
}

extension Parameters {
    /// The parameters as items: an array repeats its name, an object's members are `name[member]`.
    func items() throws(RequestError) -> [QueryItem] {
        var items: [QueryItem] = []
        for element in self { try items.append(name: element.name, value: element.value) }
        return items
    }
}

extension [QueryItem] {
    fileprivate mutating func append(name: String, value: JSONValue) throws(RequestError) {
        switch value {
        case .array(let values):
            for value in values { try append(name: name, value: value) }
        case .object(let members):
            for member in members.sorted(by: { $0.key < $1.key }) {
                try append(name: "\(name)[\(member.key)]", value: member.value)
            }
        default:
            append(QueryItem(name: PercentEncoding.encode(name.utf8), value: try Self.encoded(value)))
        }
    }

    private static func encoded(_ value: JSONValue) throws(RequestError) -> [UInt8]? {
        switch value {
        case .null: nil
        case .string(let text): PercentEncoding.encode(text.utf8)
        default: PercentEncoding.encode(try value.written())
        }
    }
}
