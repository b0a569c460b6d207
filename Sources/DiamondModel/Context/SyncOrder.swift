/// A logical clock for the loads and saves of a context. It detects responses that arrive late.
final class SyncOrder {
    private var last = 0
    /// The begin times of the running calls.
    private var active: Set<Int> = []
    /// The times at which objects were destroyed. An older response must not add them again.
    private var destroyed: [ModelKey: Int] = [:]

    /// Advances the clock, and returns its new time.
    func next() -> Int {
        last += 1
        return last
    }

    /// Begins a call, and returns its time. End the call with ``end(_:)``.
    func begin() -> Int {
        let time = next()
        active.insert(time)
        return time
    }

    func end(_ time: Int) {
        active.remove(time)
        if active.isEmpty { destroyed = [:] }
    }

    /// Returns whether calls other than the one with this time are running.
    func hasOthers(than time: Int) -> Bool { active.count > (active.contains(time) ? 1 : 0) }

    /// The objects that were deleted here and may still be on the server.
    var deleted: Set<ModelKey> = []
    /// The objects whose deletion is being sent.
    var destroying: Set<ModelKey> = []

    func noteDestroyed(_ key: ModelKey) { if !active.isEmpty { destroyed[key] = next() } }

    /// Whether objects were destroyed while calls are running.
    var hasDestroyed: Bool { !destroyed.isEmpty }

    /// Returns whether an object was destroyed after a call began.
    func isDestroyed(_ key: ModelKey, since time: Int) -> Bool { destroyed[key].map { $0 > time } ?? false }
}

/// An id with the class of its identity. Subclasses may share the ids of a class.
struct ModelKey: Hashable {
    let type: ObjectIdentifier
    let id: ModelID

    init(_ type: Model.Type, _ id: ModelID) {
        self.type = ObjectIdentifier(type.identityClass)
        self.id = id
    }
}
