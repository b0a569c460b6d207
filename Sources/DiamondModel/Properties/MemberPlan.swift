import Diamond

/// The members of the object in a text that is being read, and the places of the properties in the last object.
struct MemberPlan {
    private var object: JSONElement?
    private var count = 0
    /// Whether no member has a member or element, so that the entries of a name and its value are followed by the next.
    private var isFlat = false
    /// The names of the members, unless the object is flat. The value of each follows its name.
    private var names: [UnsafePointer<JSONEntry>] = []
    /// The index of each property's member in the last object, in the order of the visit.
    private var places: [Int] = []
    /// The number of visited properties.
    private var visited = 0

    /// Begins an object.
    mutating func begin(_ object: JSONElement) {
        visited = 0
        self.object = object
        count = object.count
        isFlat = Int(object.entry.pointee.span) == 2 * count + 1
        if isFlat { return }
        // The memory for a very large object is not kept.
        names.removeAll(keepingCapacity: names.count <= 1024)
        var members = object.members
        while let (name, _) = members.next() { names.append(name.entry) }
    }

    /// Returns the member of the next property. The place in the last object is tried first.
    ///
    /// - Returns: `nil` if there is none, if it is `null` and there are other names, or for a property without a name.
    mutating func next(of property: AnyProperty) -> JSONElement? {
        let index = visited
        visited += 1
        if index == places.count { places.append(index) }
        guard let object, let name = property.memberName else { return nil }
        let place = places[index]
        if place < count, object.isName(name, at: self.name(at: place, of: object)) {
            return value(at: place, of: property, in: object)
        }
        guard let place = (0..<count).first(where: { object.isName(name, at: self.name(at: $0, of: object)) }) else {
            return nil
        }
        places[index] = place
        return value(at: place, of: property, in: object)
    }

    private func name(at place: Int, of object: JSONElement) -> UnsafePointer<JSONEntry> {
        isFlat ? object.entry + (2 * place + 1) : names[place]
    }

    private func value(at place: Int, of property: AnyProperty, in object: JSONElement) -> JSONElement? {
        let value = JSONElement(entry: name(at: place, of: object) + 1, bytes: object.bytes)
        return property.keys.count > 1 && value.kind == .null ? nil : value
    }
}

extension JSONElement {
    @inline(__always)
    fileprivate func isName(_ name: UnsafeRawBufferPointer, at entry: UnsafePointer<JSONEntry>) -> Bool {
        JSONElement(entry: entry, bytes: bytes).isName(name)
    }
}
