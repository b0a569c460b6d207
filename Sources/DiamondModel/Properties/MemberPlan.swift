import Diamond

/// The members of the object in a text that is being read, and the places of the properties in the last object.
struct MemberPlan {
    private struct Member {
        let name: JSONElement
        let value: JSONElement
    }

    private var members: [Member] = []
    /// The index of each property's member in the last object, in the order of the visit.
    private var places: [Int] = []
    /// The number of visited properties.
    private var visited = 0

    /// Begins an object.
    mutating func begin(_ object: JSONElement) {
        visited = 0
        // The memory for a very large object is not kept.
        members.removeAll(keepingCapacity: members.count <= 1024)
        for (name, value) in object.members { members.append(Member(name: name, value: value)) }
    }

    /// Returns the member of the next property. The place in the last object is tried first.
    ///
    /// - Returns: `nil` if there is none, if it is `null` and there are other names, or for a property without names.
    mutating func next(named names: [MemberName]) -> JSONElement? {
        defer { visited += 1 }
        if visited == places.count { places.append(visited) }
        guard let first = names.first, let found = find(first, from: places[visited]) else { return nil }
        places[visited] = found
        let value = members[found].value
        return names.count > 1 && value.kind == .null ? nil : value
    }

    private func find(_ name: MemberName, from place: Int) -> Int? {
        name.bytes.withUnsafeBytes { bytes in
            if place < members.count, members[place].name.isName(bytes) { return place }
            return members.firstIndex { $0.name.isName(bytes) }
        }
    }
}

/// The name of a member, as its bytes in UTF-8.
struct MemberName: Sendable {
    let bytes: [UInt8]

    init(_ name: String) { bytes = Array(name.utf8) }
}
