import Diamond

/// The place of a property in its model's JSON: a member's name, or a path through nested objects.
///
/// A string literal is one name, even with dots. Use ``path(_:_:)`` for a member of a nested object, and for a name
/// that is no literal.
public struct PropertyKey: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The names of the members, starting at the outermost object.
    package let names: [String]

    public init(stringLiteral name: String) { names = [name] }

    private init(names: [String]) { self.names = names }

    /// Returns the key of a member of nested objects: `.path("geo", "latitude")`.
    public static func path(_ first: String, _ others: String...) -> PropertyKey {
        PropertyKey(names: [first] + others)
    }

    /// The names joined by dots, for messages.
    package var text: String { names.joined(separator: ".") }
}

extension PropertyKey {
    /// Whether a member with another name, by its bytes, may look the same. Names of ASCII without three characters
    /// that have equivalents never do.
    var mayLookLikeOthers: Bool {
        names.contains { $0.utf8.contains { $0 > 0x7F || "K;`".utf8.contains($0) } }
    }

    /// Returns the value at this key; `nil` if the object has no such member.
    ///
    /// It is `null` if the path ends at `null` or at another value that is no object.
    func value(in object: [String: JSONValue]) -> JSONValue? {
        var value = object.value(named: names[0])
        for name in names.dropFirst() {
            guard let outer = value else { return nil }
            guard case .object(let members) = outer else { return .null }
            value = members.value(named: name)
        }
        return value
    }

    /// Returns the item at this key, as ``value(in:)`` does.
    func item(in object: ObjectMembers) -> JSONItem? {
        var item = object.item(named: names[0])
        for name in names.dropFirst() {
            guard let outer = item else { return nil }
            guard let members = ObjectMembers(outer) else { return .value(.null) }
            item = members.item(named: name)
        }
        return item
    }

    /// Whether the path ends at a value that is no object.
    func isCut(in object: [String: JSONValue]) -> Bool {
        var members = object
        for name in names.dropLast() {
            guard let value = members.value(named: name) else { return false }
            guard case .object(let inner) = value else { return true }
            members = inner
        }
        return false
    }

    /// Stores a value at this key, and creates the objects on its path. `nil` removes the member.
    func put(_ value: JSONValue?, into object: inout [String: JSONValue]) {
        Self.put(value, at: names[...], into: &object)
    }

    private static func put(_ value: JSONValue?, at names: ArraySlice<String>, into object: inout [String: JSONValue]) {
        guard let name = names.first else { return }
        if names.count == 1 { return object.set(value, named: name) }
        var members: [String: JSONValue] = [:]
        if case .object(let existing)? = object.value(named: name) {
            members = existing
        } else if value == nil {
            return
        }
        put(value, at: names.dropFirst(), into: &members)
        object.set(.object(members), named: name)
    }
}
