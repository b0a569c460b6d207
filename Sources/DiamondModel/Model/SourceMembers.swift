import Diamond

/// The members of a model's last JSON, in less memory than a dictionary.
struct SourceMembers: Equatable {
    /// The names. Objects of a class usually have the same ones, and share them.
    let names: [String]
    private let values: [JSONValue]

    init(_ object: [String: JSONValue]) {
        names = Array(object.keys)
        values = Array(object.values)
    }

    /// Creates members with the names of another object; `nil` if this one has other names.
    init?(_ object: [String: JSONValue], names: [String]) {
        guard names.count == object.count else { return nil }
        var values: [JSONValue] = []
        values.reserveCapacity(names.count)
        for name in names {
            guard let value = object.value(named: name) else { return nil }
            values.append(value)
        }
        self.names = names
        self.values = values
    }

    var object: [String: JSONValue] { Dictionary(uniqueKeysWithValues: zip(names, values)) }

    /// Returns whether the members include those of an object.
    func include(_ other: [String: JSONValue]) -> Bool {
        // To compare a few names is faster than to hash one.
        if names.count <= 16 {
            return other.allSatisfy { name, value in
                names.firstIndex { $0 == name && $0.isExactly(name) }.map { values[$0] == value } ?? false
            }
        }
        let object = object
        return other.allSatisfy { name, value in object.value(named: name) == value }
    }

    static func == (left: SourceMembers, right: SourceMembers) -> Bool {
        if left.names == right.names { return left.values == right.values }
        return left.names.count == right.names.count && left.include(right.object)
    }
}
