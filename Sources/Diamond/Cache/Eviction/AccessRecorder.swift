import DiamondSQLite

/// Collects the counts and accesses of the cache until they are written.
///
/// It has eight parts with a lock each, so that accesses of different keys seldom wait for each other. All accesses of
/// one key are in one part, in their order.
final class AccessRecorder: Sendable {
    private struct Part {
        var counts: [CacheCounts] = []
        var accesses = AccessLog()
        /// Whether there was an access since the last write.
        var isUsed = false
        /// Whether accesses are kept. They are kept until the first write tells whether the store records them.
        var isRecording = true

        mutating func add(_ access: CacheAccess) -> Bool {
            isUsed = true
            return isRecording && accesses.add(access)
        }

        mutating func set(_ recording: AccessRecording) {
            switch recording {
            case .off:
                isRecording = false
                _ = accesses.removeAll()
            case .on(let sampling):
                isRecording = true
                accesses.sampling = sampling
            }
        }
    }

    private static let partCount = 8

    private let parts = (0..<AccessRecorder.partCount).map { _ in Guarded(Part()) }

    /// Records an access.
    ///
    /// - Returns: whether so many accesses wait that they have to be written now.
    func record(_ access: CacheAccess) -> Bool { part(of: access).withLock { $0.add(access) } }

    /// Records an access, and counts it in an hour.
    ///
    /// - Returns: whether the records have to be written now: because many accesses wait, or an hour has ended.
    func count(
        _ access: CacheAccess,
        in hour: Int64,
        _ body: (inout CacheCounts) -> Void
    ) -> Bool {
        part(of: access).withLock { part in
            let isFull = part.add(access)
            return part.counts.count(in: hour, body) || isFull
        }
    }

    /// Moves the counts and accesses that wait to records that are about to be written.
    func move(to records: inout UsageRecords) {
        for part in parts {
            part.withLock { part in
                for counts in part.counts { records.counts.add(counts) }
                part.counts = []
                records.accesses += part.accesses.removeAll()
                records.wasUsed = records.wasUsed || part.isUsed
                part.isUsed = false
            }
        }
    }

    /// Inserts accesses that could not be written before newer ones.
    func putBack(_ accesses: [CacheAccess]) {
        for (number, accesses) in Dictionary(grouping: accesses, by: Self.number) {
            parts[number].withLock { $0.accesses.putBack(accesses) }
        }
    }

    /// Sets which accesses are recorded from now on.
    func set(_ recording: AccessRecording) {
        for part in parts { part.withLock { $0.set(recording) } }
    }

    private func part(of access: CacheAccess) -> Guarded<Part> { parts[Self.number(of: access)] }

    private static func number(of access: CacheAccess) -> Int {
        Int(truncatingIfNeeded: access.prefix) & (partCount - 1)
    }
}
