/// Makes values from the elements of a tape.
///
/// An object whose names an earlier one has is made with a copy of that one's hash table, without hashing, and shares
/// its names.
struct JSONValueBuilder {
    /// The places of the members by name, for each shape of which an object was made.
    private var places: [[String: Int]]

    init(shapeCount: Int) { places = Array(repeating: [:], count: shapeCount + 1) }

    mutating func value(of element: JSONElement) -> JSONValue {
        switch element.kind {
        case .null: .null
        case .false: false
        case .true: true
        case .number: element.number
        case .string: .string(element.string())
        case .array: .array(array(of: element))
        case .object: .object(object(of: element))
        case .fault:
            .fragment(
                JSONFragment(object: String(decoding: element.text, as: UTF8.self), fault: element.fault ?? ""))
        }
    }

    private mutating func array(of element: JSONElement) -> [JSONValue] {
        // For no elements, this initializer would write to the storage that all empty arrays share: a data race.
        guard element.count > 0 else { return [] }
        return Array(unsafeUninitializedCapacity: element.count) { buffer, count in
            for element in element.elements {
                buffer.initializeElement(at: count, to: value(of: element))
                count += 1
            }
        }
    }

    private mutating func object(of element: JSONElement) -> [String: JSONValue] {
        let shape = element.shape
        guard shape > 0, shape < places.count else {
            return dictionary(of: element) { (builder, value, _) in builder.value(of: value) }
        }
        if places[shape].isEmpty { places[shape] = dictionary(of: element) { (_, _, place) in place } }
        return withUnsafeTemporaryAllocation(of: JSONValue.self, capacity: element.count) { values in
            for (place, member) in element.members.enumerated() {
                values.initializeElement(at: place, to: value(of: member.value))
            }
            return places[shape].mapValues { values.moveElement(from: $0) }
        }
    }

    /// Returns the members by name. The last of several members with equal names counts.
    private mutating func dictionary<Value>(
        of element: JSONElement, value: (inout JSONValueBuilder, JSONElement, Int) -> Value
    ) -> [String: Value] {
        var dictionary: [String: Value] = [:]
        dictionary.reserveCapacity(element.count)
        for (place, member) in element.members.enumerated() {
            dictionary[member.name.string()] = value(&self, member.value, place)
        }
        return dictionary
    }
}

extension JSONElement {
    /// Returns the value. For a whole text use `JSONValue(reading:)`, which shares names.
    package func value() -> JSONValue {
        var builder = JSONValueBuilder(shapeCount: 0)
        return builder.value(of: self)
    }

    /// The value of a number. One beyond a double, which is an ambiguity, is text.
    var number: JSONValue {
        isShortInteger
            ? .integer(shortInteger)
            : JSONNumber.value(of: text) ?? .fragment(JSONFragment(number: String(decoding: text, as: UTF8.self)))
    }
}
