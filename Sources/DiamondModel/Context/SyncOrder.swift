import Foundation

/// A time in a ``SyncOrder``.
struct SyncTime: Hashable, Comparable {
    /// The time before all calls.
    static let beginning = SyncTime(number: 0)

    private let number: Int

    var next: SyncTime { SyncTime(number: number + 1) }

    static func < (left: SyncTime, right: SyncTime) -> Bool { left.number < right.number }
}

/// A logical clock for the loads and saves of a context. It detects responses that arrive late.
final class SyncOrder {
    private var last = SyncTime.beginning
    private let now: () -> Date
    /// The dates of the values of the running calls, by begin time: the begin, or earlier for values from a cache.
    private var active: [SyncTime: Date] = [:]
    /// The times at which objects were destroyed. An older response must not add them again.
    private var destroyed: [ModelKey: SyncTime] = [:]

    init(now: @escaping () -> Date = { Date() }) { self.now = now }

    /// Advances the clock, and returns its new time.
    func next() -> SyncTime {
        last = last.next
        return last
    }

    /// Begins a call, and returns its time. End the call with ``end(_:)``.
    func begin() -> SyncTime {
        let time = next()
        active[time] = now()
        return time
    }

    func end(_ time: SyncTime) {
        active[time] = nil
        if active.isEmpty { destroyed = [:] }
    }

    /// Notes the age of the values of a running call, which may come from a cache; `nil` if it is unknown.
    func note(age: Duration?, of time: SyncTime) {
        let date = age.map { now().addingTimeInterval(-($0 / .seconds(1))) } ?? .distantPast
        active[time] = active[time].map { min($0, date) }
    }

    /// Returns the time of the first running call whose values are newer than a date; `nil` for none.
    func firstTime(after date: Date) -> SyncTime? { active.filter { $0.value > date }.keys.min() }

    /// Returns whether calls other than the one with this time are running.
    func hasOthers(than time: SyncTime) -> Bool { active.count > (active[time] == nil ? 0 : 1) }

    /// The objects that were deleted here and may still be on the server.
    var deleted: Set<ModelKey> = []
    /// The objects whose deletion is being sent.
    var destroying: Set<ModelKey> = []

    func noteDestroyed(_ key: ModelKey) { if !active.isEmpty { destroyed[key] = next() } }

    /// Whether objects were destroyed while calls are running.
    var hasDestroyed: Bool { !destroyed.isEmpty }

    /// Returns whether an object was destroyed after a call began.
    func isDestroyed(_ key: ModelKey, since time: SyncTime) -> Bool { destroyed[key].map { $0 > time } ?? false }
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
