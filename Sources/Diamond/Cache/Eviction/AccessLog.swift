/// The accesses that wait to be written.
///
/// Repeated hits of a key within one second are counted in one access. This makes no difference to a cache that keeps
/// entries for longer than a second, and limits a popular key to one row a second.
package struct AccessLog: Sendable {
    /// The most accesses that wait for the next change. Beyond that, they are written on their own: 4096 in all parts
    /// of an ``AccessRecorder``.
    static let maximumWaiting = 512

    package var sampling: Sampling
    private var waiting: [CacheAccess] = []
    private var places: [Int64: Int] = [:]
    private var passed = CacheAccess.Passed()

    package init(sampling: Sampling = Sampling()) { self.sampling = sampling }

    /// Adds an access, if its key is in the sample.
    ///
    /// - Returns: whether so many accesses wait that they have to be written now.
    @discardableResult
    package mutating func add(_ access: CacheAccess) -> Bool {
        guard sampling.has(access.prefix) else {
            skip(access)
            return false
        }
        if access.kind == .hit, let place = places[access.prefix], waiting[place].second == access.second {
            waiting[place].uses += 1
            return false
        }
        append(access)
        return waiting.count == Self.maximumWaiting
    }

    private mutating func skip(_ access: CacheAccess) {
        passed.uses += 1
        passed.bytes += access.bodySize
    }

    private mutating func append(_ access: CacheAccess) {
        places[access.prefix] = waiting.endIndex
        waiting.append(access)
        waiting[waiting.endIndex - 1].sampling = sampling
        waiting[waiting.endIndex - 1].passed = passed
        passed = CacheAccess.Passed()
    }

    /// Removes and returns the accesses that wait. Accesses skipped since the last of them are recorded with the next
    /// one.
    package mutating func removeAll() -> [CacheAccess] {
        guard !waiting.isEmpty else { return [] }
        defer {
            waiting = []
            places.removeAll(keepingCapacity: true)
        }
        return waiting
    }

    /// Inserts accesses that could not be written before newer ones. If there are too many, the oldest are dropped.
    mutating func putBack(_ accesses: [CacheAccess]) {
        waiting = Array((accesses + waiting).suffix(Self.maximumWaiting - 1))
        places = Dictionary(zip(waiting.map(\.prefix), waiting.indices)) { $1 }
    }
}
