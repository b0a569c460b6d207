/// An array or object that is being encoded.
enum EncodedContainer {
    case object(EncodedObject)
    case array(EncodedArray)
}

/// An array that is being encoded.
final class EncodedArray {
    var values: [JSONValue] = []
    /// The nested containers by the indices of their values, which are set at the end.
    var containers: [(index: Int, container: EncodedContainer)] = []

    func append(_ container: EncodedContainer) {
        containers.append((values.count, container))
        values.append(.null)
    }
}

/// An object that is being encoded. Objects of a type usually have the names of the last one, and share its hash table.
final class EncodedObject {
    /// The type of the keys.
    let keys: ObjectIdentifier
    // Unchecked, because each access only reads or appends.
    @exclusivity(unchecked) var values: [JSONValue] = []
    /// The nested containers by the indices of their values, which are set at the end.
    var containers: [(index: Int, container: EncodedContainer)] = []
    private let expected: Shape?
    /// The names; `nil` as long as they are those of the expected shape.
    @exclusivity(unchecked) private var otherNames: [String]?

    init(keys: ObjectIdentifier, shape: Shape?) {
        self.keys = keys
        expected = shape
        if let shape { values.reserveCapacity(shape.names.count) } else { otherNames = [] }
    }

    func append(_ value: JSONValue, named name: String) {
        note(name)
        values.append(value)
    }

    func append(_ container: EncodedContainer, named name: String) {
        note(name)
        containers.append((values.count, container))
        values.append(.null)
    }

    private func note(_ name: String) {
        guard otherNames == nil, let expected else {
            otherNames?.append(name)
            return
        }
        let index = values.count
        if index < expected.names.count, expected.names[index].isExactly(name) { return }
        otherNames = expected.names.prefix(index) + [name]
    }

    private var names: [String] { otherNames ?? Array(expected?.names.prefix(values.count) ?? []) }

    /// The shape of the finished object.
    var shape: Shape {
        if otherNames == nil, let expected, values.count == expected.names.count { return expected }
        return Shape(names)
    }

    /// Whether the name of a container is that of an earlier member. `JSONEncoder` continues that member's container.
    func repeatsContainer(in shape: Shape) -> Bool {
        guard !containers.isEmpty, shape.hasRepeatedNames else { return false }
        let indices = Set(containers.map(\.index))
        var earlier: Set<String> = []
        return shape.names.enumerated().contains { index, name in
            !earlier.insert(name).inserted && indices.contains(index)
        }
    }

    /// Names in an order, and their places.
    final class Shape {
        let names: [String]
        /// The places of the names. The last of equal names counts, as in a dictionary.
        private let places: [String: Int]

        init(_ names: [String]) {
            self.names = names
            places = Dictionary(zip(names, names.indices)) { $1 }
        }

        var hasRepeatedNames: Bool { places.count < names.count }

        func object(of values: [JSONValue]) -> [String: JSONValue] { places.mapValues { values[$0] } }
    }
}
