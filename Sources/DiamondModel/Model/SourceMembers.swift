import Diamond

/// The members of a model's last JSON, in less memory than a dictionary: the text of the object, or its values.
struct SourceMembers: Equatable {
    /// The names. Objects of a class usually have the same ones, and share them. Empty for a text.
    let names: [String]
    private let values: [JSONValue]
    private let text: KeptText?

    init(_ object: [String: JSONValue]) {
        names = Array(object.keys)
        values = Array(object.values)
        text = nil
    }

    /// Creates members with the text of an object.
    init(text: KeptText) {
        names = []
        values = []
        self.text = text
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
        text = nil
    }

    var object: [String: JSONValue] {
        guard let text else { return Dictionary(uniqueKeysWithValues: zip(names, values)) }
        // The text was read before.
        return text.withBytes { (try? JSONValue(reading: $0, isolatesFaults: true).modelObject()) ?? [:] }
    }

    /// Members with the values of the text.
    var read: SourceMembers { text == nil ? self : SourceMembers(object) }

    /// The size of the memory that keeps the text; 0 for values.
    var memorySize: Int { text?.memorySize ?? 0 }

    /// Whether each reading of the text takes long, for example with the elements of a nested collection.
    var isLongText: Bool { text.map { $0.count > 1024 } ?? false }

    /// Returns whether the members were read from an equal text.
    func isText(of object: ObjectMembers) -> Bool { text.map(object.isText) ?? false }

    /// Returns whether these are the members of an object, in the same form.
    func areRead(from object: ObjectMembers) -> Bool {
        guard let values = object.values else { return isText(of: object) }
        return text == nil && names.count == values.count && include(values)
    }

    /// Returns whether the members include those of an object.
    func include(_ other: [String: JSONValue]) -> Bool {
        // To compare a few names is faster than to hash one.
        if text == nil, names.count <= 16 {
            return other.allSatisfy { name, value in
                names.firstIndex { $0 == name && $0.isExactly(name) }.map { values[$0] == value } ?? false
            }
        }
        let object = object
        return other.allSatisfy { name, value in object.value(named: name) == value }
    }

    static func == (left: SourceMembers, right: SourceMembers) -> Bool {
        switch (left.text, right.text) {
        case (nil, nil) where left.names == right.names: return left.values == right.values
        case (let own?, let other?) where other.withBytes(own.hasSameBytes): return true
        default: break
        }
        return JSONValue.object(left.object) == .object(right.object)
    }
}

extension SourceMembers {
    /// Writes the members that an object does not have yet.
    ///
    /// - Parameter order: The order of the last object.
    func write(to output: inout JSONWriter, in object: JSONWriter.Object, order: inout MemberOrder) {
        // The names that are written here differ.
        let count = output.memberCount(of: object)
        for (name, value) in zip(names, values)
        where count == 0 || !output.hasMember(name, amongFirst: count, of: object) {
            output.beginMember(name)
            output.write(value)
        }
        text?.withBytes { bytes in
            // The text was read before.
            guard let tape = try? JSONTape(scanning: bytes, ambiguities: .isolated) else { return }
            withExtendedLifetime(tape) {
                order.forEachMember(of: tape.root) { name, value in
                    if count > 0, output.hasMember(name.string(), amongFirst: count, of: object) { return }
                    output.write(value, named: name)
                }
            }
        }
    }
}
