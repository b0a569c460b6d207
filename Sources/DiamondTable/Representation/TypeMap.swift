/// Values by type. A value is found by an object's exact type, a superclass or a protocol.
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
    // Results by the type of the object, so that the entries are searched once for each type.
    private var classes: [ObjectIdentifier: Value?] = [:]
    private var protocols: [ObjectIdentifier: Value?] = [:]

    /// Sets the value for a class, a protocol or another type. Setting it again keeps its position in the order.
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

    /// Returns the value for an object's own type or its nearest superclass, or else the first one for a protocol.
    func value(for object: Any) -> Value? { valueForClass(of: object) ?? valueForProtocol(of: object) }

    /// Returns the value for an object's own type, or its nearest superclass.
    func valueForClass(of object: Any) -> Value? {
        let type = ObjectIdentifier(Swift.type(of: object))
        if let value = exact[type] { return value }
        if let known = classes[type] { return known }
        let candidates = entries.filter { $0.type is AnyClass && $0.matches(object) }
        // The object inherits from all candidates. The nearest one inherits from all others.
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
