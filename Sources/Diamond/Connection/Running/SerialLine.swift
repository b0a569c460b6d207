/// The line of a serial lane. The first connection runs, and the others are held. The next one's turn comes when the
/// first has finished and its callbacks have returned.
struct SerialLine {
    private struct Place {
        /// Retained, so that no other connection gets its address, which is its key in the line.
        let connection: Connection
        let hold: Dependency?
        var previous: ObjectIdentifier?
        var next: ObjectIdentifier?
    }

    private var places: [ObjectIdentifier: Place] = [:]
    private var first: ObjectIdentifier?
    private var last: ObjectIdentifier?

    var isEmpty: Bool { places.isEmpty }

    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    /// - Returns: `false` if the connection does not enter the line, because the line waits for it.
    mutating func append(_ connection: Connection, releaseLater: inout [AnyObject]) -> Bool {
        let number = ObjectIdentifier(connection)
        guard let last, let end = places[last]?.connection else {
            places[number] = Place(connection: connection, hold: nil)
            first = number
            self.last = number
            return true
        }
        guard DependencyGraph.enterLine(connection, behind: end, releaseLater: &releaseLater) else { return false }
        places[number] = Place(connection: connection, hold: connection.hold(), previous: last)
        places[last]?.next = number
        self.last = number
        return true
    }

    /// Returns the dependency with which a connection waits for its turn; `nil` if it does not wait.
    func hold(of number: ObjectIdentifier) -> Dependency? { places[number]?.hold }

    /// - Parameter releaseLater: collects objects that may have no other reference, to be released while no lock is
    ///   held.
    /// - Returns: the hold of the connection that is first now, if that has changed.
    mutating func remove(_ number: ObjectIdentifier, releaseLater: inout [AnyObject]) -> Dependency? {
        guard let place = places.removeValue(forKey: number) else { return nil }
        releaseLater.append(place.connection)
        DependencyGraph.leaveLine(place.connection, releaseLater: &releaseLater)
        if let previous = place.previous { places[previous]?.next = place.next } else { first = place.next }
        if let next = place.next { places[next]?.previous = place.previous } else { last = place.previous }
        return place.previous == nil ? first.flatMap { places[$0]?.hold } : nil
    }
}
