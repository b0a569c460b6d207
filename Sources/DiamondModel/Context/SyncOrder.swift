/// The order of loads and saves in a context, by which answers that come late are known.
final class SyncOrder {
    private var last = 0
    /// The times at which the calls began that are under way.
    private var active: Set<Int> = []
    /// The times at which objects were destroyed, which an older answer must not bring back.
    private var destroyed: [ModelKey: Int] = [:]

    /// Returns the time of what happens now; the next is greater.
    func next() -> Int {
        last += 1
        return last
    }

    /// Begins a call, and returns its time; ``end(_:)`` has to follow.
    func begin() -> Int {
        let time = next()
        active.insert(time)
        return time
    }

    func end(_ time: Int) {
        active.remove(time)
        if active.isEmpty { destroyed = [:] }
    }

    /// Whether answers to other calls than the one of a time may come.
    func hasOthers(than time: Int) -> Bool { active.count > (active.contains(time) ? 1 : 0) }

    /// The objects that were deleted here and may still be on the server.
    var deleted: Set<ModelKey> = []

    func noteDestroyed(_ key: ModelKey) { if !active.isEmpty { destroyed[key] = next() } }

    /// Whether an object was destroyed after a call had begun.
    func isDestroyed(_ key: ModelKey, since time: Int) -> Bool { destroyed[key].map { $0 > time } ?? false }
}

/// An id within the classes that share their ids.
struct ModelKey: Hashable {
    let type: ObjectIdentifier
    let id: ModelID

    init(_ type: Model.Type, _ id: ModelID) {
        self.type = ObjectIdentifier(type.identityClass)
        self.id = id
    }
}
