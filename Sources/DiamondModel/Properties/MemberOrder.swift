import Diamond

/// The order by name of the members of an object in a text. Most objects of a list have the names of the last one, in
/// its order, so that they are not sorted again when they are written.
struct MemberOrder {
    /// The names of the members of the current object. The value of each follows its name.
    private var names: [UnsafePointer<JSONEntry>] = []
    /// The places of the members of the last object in its text, by name.
    private var places: [Int] = []

    /// Calls `body` with the names and values of an object, by the bytes of the names.
    mutating func forEachMember(of object: JSONElement, _ body: (JSONElement, JSONElement) -> Void) {
        names.removeAll(keepingCapacity: names.count <= 1024)
        for (name, _) in object.members { names.append(name.entry) }
        if places.count != names.count || !isSorted(in: object.bytes) {
            places = names.indices.sorted { precedes($0, $1, in: object.bytes) }
        }
        for place in places {
            body(
                JSONElement(entry: names[place], bytes: object.bytes),
                JSONElement(entry: names[place] + 1, bytes: object.bytes))
        }
    }

    private func isSorted(in bytes: UnsafePointer<UInt8>) -> Bool {
        zip(places, places.dropFirst()).allSatisfy { precedes($0, $1, in: bytes) }
    }

    /// Whether the bytes of one name come before those of another.
    private func precedes(_ left: Int, _ right: Int, in bytes: UnsafePointer<UInt8>) -> Bool {
        let left = JSONElement(entry: names[left], bytes: bytes).text
        let right = JSONElement(entry: names[right], bytes: bytes).text
        return left.lexicographicallyPrecedes(right)
    }
}
