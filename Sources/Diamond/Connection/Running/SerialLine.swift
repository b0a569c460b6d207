/// The order of a serial lane: the first runs, the others are held until it is their turn: when it has finished, and its
/// callbacks have returned.
struct SerialLine {
    private var first: ObjectIdentifier?
    private var others = FirstInFirstOut<ObjectIdentifier>()
    private var holds: [ObjectIdentifier: Dependency] = [:]

    var isEmpty: Bool { first == nil }

    func contains(_ connection: Connection) -> Bool {
        let number = ObjectIdentifier(connection)
        return first == number || holds[number] != nil
    }

    /// - Parameter hold: called where others come first.
    mutating func append(_ connection: Connection, hold: (Connection) -> Dependency) {
        let number = ObjectIdentifier(connection)
        guard first != nil else { return first = number }
        others.append(number)
        holds[number] = hold(connection)
    }

    /// - Returns: the hold of the one whose turn it is now, where that has changed.
    mutating func remove(_ number: ObjectIdentifier) -> Dependency? {
        holds[number] = nil
        guard first == number else { return nil }
        first = nil
        while let next = others.popFirst() {
            guard let hold = holds.removeValue(forKey: next) else { continue }
            first = next
            return hold
        }
        return nil
    }
}
