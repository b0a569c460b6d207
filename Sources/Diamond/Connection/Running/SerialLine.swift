/// The order of a serial lane. The first connection runs, and the others are held. The next one's turn comes when the
/// first has finished and its callbacks have returned.
struct SerialLine {
    private struct Place {
        /// Kept, so that no other gets its address while the line knows it by that.
        let connection: Connection
        let hold: Dependency?
        var previous: ObjectIdentifier?
        var next: ObjectIdentifier?
    }

    private var places: [ObjectIdentifier: Place] = [:]
    private var first: ObjectIdentifier?
    private var last: ObjectIdentifier?

    var isEmpty: Bool { places.isEmpty }

    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    /// - Returns: `false` where the connection need not wait for the line, because the line waits for it.
    mutating func append(_ connection: Connection, _ met: inout [AnyObject]) -> Bool {
        let number = ObjectIdentifier(connection)
        guard let last, let end = places[last]?.connection else {
            places[number] = Place(connection: connection, hold: nil)
            (first, self.last) = (number, number)
            return true
        }
        guard DependencyGraph.line(up: connection, behind: end, &met) else { return false }
        places[number] = Place(connection: connection, hold: connection.hold(), previous: last)
        places[last]?.next = number
        self.last = number
        return true
    }

    /// Returns the dependency with which a connection waits for its turn; `nil` where it does not wait.
    func hold(of number: ObjectIdentifier) -> Dependency? { places[number]?.hold }

    /// - Parameter met: collects objects that may have no other reference; free them where no lock is held.
    /// - Returns: the hold of the connection whose turn it is now, where that has changed.
    mutating func remove(_ number: ObjectIdentifier, _ met: inout [AnyObject]) -> Dependency? {
        guard let place = places.removeValue(forKey: number) else { return nil }
        met.append(place.connection)
        DependencyGraph.leaveLine(place.connection, &met)
        if let previous = place.previous { places[previous]?.next = place.next } else { first = place.next }
        if let next = place.next { places[next]?.previous = place.previous } else { last = place.previous }
        return place.previous == nil ? first.flatMap { places[$0]?.hold } : nil
    }
}
