#if Tools
/// An object in the JSON of a command. Members that are `nil` are left out.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    typealias Value = (any Encodable)?

    /// The name of a member.
    struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    private var members: [(name: String, value: Value)]

    init(dictionaryLiteral elements: (String, Value)...) { members = elements }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in members {
            if let value { try container.encode(value, forKey: Name(stringValue: name)) }
        }
    }

    /// Returns an object with the members of both.
    func adding(_ other: JSONObject) -> JSONObject {
        var sum = self
        sum.members += other.members
        return sum
    }
}
#endif
