package import Diamond
import DiamondSQLite

extension Cache {
    /// The bound that the store's programs give it, as the last of them has recorded it; `nil` where none has.
    package func recordedCapacity() throws(CacheError) -> Int64? { try file.read(CacheTable.capacity) }

    /// Whether the store records its accesses. It does not unless ``setRecording(_:)`` has switched that on.
    package func isRecording() throws(CacheError) -> Bool { try file.read(CacheTable.isRecording) }

    /// Switches the record of accesses on or off. The programs that use the store follow with their next write.
    ///
    /// - Parameter isOn: `false` also erases what was recorded.
    package func setRecording(_ isOn: Bool) throws(CacheError) {
        try file.write { (connection) throws(SQLiteError) in try CacheTable.setRecording(isOn, on: connection) }
    }

    /// Replays what all processes of the store have recorded, at other sizes. What this process did since its last write
    /// is among it after ``flush()``.
    ///
    /// - Parameter capacities: bounds as ``diskCapacity``; from an eighth of the present one to eight times as much by
    ///   default.
    package func simulation(of capacities: [Int64]? = nil) throws(CacheError) -> Simulation {
        let (accesses, capacity) = try file.read(CacheTable.accesses)
        return Simulation(
            accesses,
            present: capacity ?? diskCapacity,
            capacities: capacities,
            usable: Eviction.usable(of:)
        )
    }
}
