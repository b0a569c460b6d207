package import Diamond
import DiamondSQLite

extension Cache {
    /// The bound that the store's programs give it, as the last of them has recorded it; `nil` where none has.
    package func recordedCapacity() throws(CacheError) -> Int64? { try file.read(CacheTable.capacity) }

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
