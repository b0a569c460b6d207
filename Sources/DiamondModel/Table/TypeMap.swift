/// Values by the types of objects: found by the exact type, by a superclass, or by a protocol.
final class TypeMap<Value> {
    private struct Entry {
        let type: Any.Type
        let value: Value
        let matches: (Any) -> Bool
        /// Returns whether another class is this one or inherits from it.
        let covers: (Any.Type) -> Bool
    }

    private var entries: [Entry] = []
    private var exact: [ObjectIdentifier: Value] = [:]
    // By the types of objects, so that the entries are searched once for each.
    private var classes: [ObjectIdentifier: Value?] = [:]
    private var protocols: [ObjectIdentifier: Value?] = [:]

    /// Sets the value for a class, a protocol or another type. One that is set again keeps its place in the order.
    func set<Object>(for type: Object.Type, _ value: Value) {
        let entry = Entry(type: type, value: value, matches: { $0 is Object }, covers: { $0 is Object.Type })
        if let index = entries.firstIndex(where: { $0.type == type }) {
            entries[index] = entry
        } else {
            entries.append(entry)
        }
        exact[ObjectIdentifier(type)] = value
        classes = [:]
        protocols = [:]
    }

    /// Returns the value for an object's own type or its nearest superclass, or else the first for a protocol.
    func value(for object: Any) -> Value? { valueForClass(of: object) ?? valueForProtocol(of: object) }

    /// Returns the value for an object's own type, or its nearest superclass.
    func valueForClass(of object: Any) -> Value? {
        let type = ObjectIdentifier(Swift.type(of: object))
        if let value = exact[type] { return value }
        if let known = classes[type] { return known }
        let candidates = entries.filter { $0.type is AnyClass && $0.matches(object) }
        // All are on one line of inheritance: the nearest is covered by all others.
        let nearest = candidates.first { entry in candidates.allSatisfy { $0.covers(entry.type) } }
        classes[type] = .some(nearest?.value)
        return nearest?.value
    }

    /// Returns the first value for a protocol that an object's type conforms to.
    func valueForProtocol(of object: Any) -> Value? {
        let type = ObjectIdentifier(Swift.type(of: object))
        if let known = protocols[type] { return known }
        let value = entries.first { !($0.type is AnyClass) && $0.matches(object) }?.value
        protocols[type] = .some(value)
        return value
    }
}
