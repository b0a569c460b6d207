import Diamond

/// The members of the object in a text that is being read, and the places of the properties in the last object.
struct MemberPlan {
    /// The names of the members. The value of each follows its name.
    private var names: [UnsafePointer<JSONEntry>] = []
    private var bytes: UnsafePointer<UInt8>?
    /// The index of each property's member in the last object, in the order of the visit.
    private var places: [Int] = []
    /// The number of visited properties.
    private var visited = 0

    /// Begins an object.
    mutating func begin(_ object: JSONElement) {
        visited = 0
        // The memory for a very large object is not kept.
        names.removeAll(keepingCapacity: names.count <= 1024)
        bytes = object.bytes
        var members = object.members
        while let (name, _) = members.next() { names.append(name.entry) }
    }

    /// Returns the member of the next property. The place in the last object is tried first.
    ///
    /// - Returns: `nil` if there is none, if it is `null` and there are other names, or for a property without names.
    mutating func next(named names: [MemberName]) -> JSONElement? {
        let index = visited
        visited += 1
        if index == places.count { places.append(index) }
        guard let first = names.first, let bytes else { return nil }
        let place = places[index]
        if place < self.names.count, first.isName(of: self.names[place], in: bytes) {
            return value(at: place, named: names, in: bytes)
        }
        guard let place = self.names.firstIndex(where: { first.isName(of: $0, in: bytes) }) else { return nil }
        places[index] = place
        return value(at: place, named: names, in: bytes)
    }

    private func value(at place: Int, named names: [MemberName], in bytes: UnsafePointer<UInt8>) -> JSONElement? {
        let value = JSONElement(entry: self.names[place] + 1, bytes: bytes)
        return names.count > 1 && value.kind == .null ? nil : value
    }
}

/// The name of a member, as its bytes in UTF-8.
struct MemberName: Sendable {
    let bytes: [UInt8]

    init(_ name: String) { bytes = Array(name.utf8) }

    @inline(__always)
    fileprivate func isName(of entry: UnsafePointer<JSONEntry>, in text: UnsafePointer<UInt8>) -> Bool {
        bytes.withUnsafeBytes { JSONElement(entry: entry, bytes: text).isName($0) }
    }
}
