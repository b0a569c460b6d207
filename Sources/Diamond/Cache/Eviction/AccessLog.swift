/// The accesses that wait to be written.
///
/// Repeats of a key within one second are counted in one access: no cache that turns over slower than that tells them
/// apart, and a key that is asked for all the time costs one row a second.
package struct AccessLog: Sendable {
    /// The most accesses that wait. Beyond that, they are a write of their own: 4096 in the parts of an
    /// ``AccessRecorder``.
    static let maximumWaiting = 512

    package var sampling: Sampling
    private var waiting: [CacheAccess] = []
    private var places: [Int64: Int] = [:]
    private var passed = CacheAccess.Passed()

    package init(sampling: Sampling = Sampling()) { self.sampling = sampling }

    /// - Returns: whether enough accesses wait now that they have to be written.
    @discardableResult
    package mutating func add(_ access: CacheAccess) -> Bool {
        guard sampling.has(access.prefix) else {
            pass(access)
            return false
        }
        if access.kind == .hit, let place = places[access.prefix], waiting[place].second == access.second {
            waiting[place].uses += 1
            return false
        }
        append(access)
        return waiting.count == Self.maximumWaiting
    }

    private mutating func pass(_ access: CacheAccess) {
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

    /// Removes and returns the accesses that wait. The accesses passed over since then are recorded with the next one.
    package mutating func take() -> [CacheAccess] {
        guard !waiting.isEmpty else { return [] }
        defer {
            waiting = []
            places.removeAll(keepingCapacity: true)
        }
        return waiting
    }

    /// Takes back accesses that could not be written, and puts them before newer ones. If there are too many, the
    /// oldest are dropped.
    mutating func putBack(_ accesses: [CacheAccess]) {
        waiting = Array((accesses + waiting).suffix(Self.maximumWaiting - 1))
        places = Dictionary(zip(waiting.map(\.prefix), waiting.indices)) { $1 }
    }
}
