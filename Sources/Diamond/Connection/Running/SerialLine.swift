/// The order of a serial lane: the first runs, the others are held until it is their turn: when it has finished, and its
/// callbacks have returned.
struct SerialLine {
    private var first: ObjectIdentifier?
    // By number: one that has left may be freed, and another get its address.
    private var others = FirstInFirstOut<(connection: ObjectIdentifier, number: Int)>()
    private var holds: [ObjectIdentifier: (number: Int, hold: Dependency)] = [:]
    private var count = 0

    var isEmpty: Bool { first == nil }

    func contains(_ connection: Connection) -> Bool {
        let number = ObjectIdentifier(connection)
        return first == number || holds[number] != nil
    }

    /// - Parameter hold: called where others come first.
    mutating func append(_ connection: Connection, hold: (Connection) -> Dependency) {
        let number = ObjectIdentifier(connection)
        guard first != nil else { return first = number }
        count += 1
        others.append((number, count))
        holds[number] = (count, hold(connection))
    }

    /// - Returns: the hold of the one whose turn it is now, where that has changed.
    mutating func remove(_ number: ObjectIdentifier) -> Dependency? {
        holds[number] = nil
        guard first == number else { return nil }
        first = nil
        while let next = others.popFirst() {
            guard let waiting = holds[next.connection], waiting.number == next.number else { continue }
            holds[next.connection] = nil
            first = next.connection
            return waiting.hold
        }
        return nil
    }
}
