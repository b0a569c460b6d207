package import Diamond
import DiamondSQLite

extension Cache {
    /// Returns the disk capacity that a program of the store recorded last; `nil` if there is none.
    package func recordedCapacity() throws(CacheError) -> Int64? { try file.read(CacheTable.capacity) }

    /// Whether the store records its accesses. It does not unless ``setRecording(_:)`` has switched that on.
    package func isRecording() throws(CacheError) -> Bool { try file.read(CacheTable.isRecording) }

    /// Switches the record of accesses on or off. The programs that use the store follow with their next write.
    ///
    /// - Parameter isOn: `false` also erases the record.
    package func setRecording(_ isOn: Bool) throws(CacheError) {
        try file.write { (connection) throws(SQLiteError) in try CacheTable.setRecording(isOn, on: connection) }
    }

    /// Replays the recorded accesses of all processes of the store at other capacities. The accesses of this process
    /// since its last write are included after ``flush()``.
    ///
    /// - Parameter capacities: capacities as ``diskCapacity``; by default from an eighth of the current one to eight
    ///   times as much.
    package func simulation(of capacities: [Int64]? = nil) throws(CacheError) -> Simulation {
        let (accesses, capacity) = try file.read(CacheTable.accesses)
        return Simulation(
            accesses,
            currentCapacity: capacity ?? diskCapacity,
            capacities: capacities,
            usable: Eviction.usable(of:)
        )
    }
}
