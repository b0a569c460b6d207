#if Valkey
import Diamond

/// The keys that the server tracks for this process, and the changes that it has reported.
///
/// A key is watched before it is read. If that watch has ended when the reply is used, the key has changed since, even
/// if another task watches it again.
struct ValkeyWatch {
    /// The watch of a key until it changes.
    struct KeyWatch: Hashable, Sendable {
        let key: String
        fileprivate let number: Int
    }

    private struct Watched {
        /// The number of its ``KeyWatch``.
        var number: Int
        /// The stamp, if the key is one of a name and it was read.
        var stamp: ValkeyStamp?
        /// The prefixes of the keys of records that depend on it.
        var records: Set<Int64> = []
        /// Whether all records depend on it.
        var isCommon = false
        /// Whether it was used since the last refresh.
        var isUsed = true
    }

    /// The most watched keys. Beyond them, memory is dropped and watching begins again.
    static let mostKeys = 200_000

    private var keys: [String: Watched] = [:]
    /// The number of watches so far.
    private var watches = 0
    /// The reported changes. The server numbers them by its time in microseconds.
    var log = CacheChangeLog()
    /// The times of the stamps that this process has changed.
    private var ownTimes: Set<Int64> = []

    // MARK: Watching

    /// Begins to watch a key before it is read, unless it is watched.
    @discardableResult
    mutating func begin(_ key: String, isCommon: Bool = false) -> KeyWatch {
        if let watched = keys[key] { return KeyWatch(key: key, number: watched.number) }
        if keys.count >= Self.mostKeys { forgetAll() }
        watches += 1
        keys[key] = Watched(number: watches, isCommon: isCommon)
        return KeyWatch(key: key, number: watches)
    }

    private func index(of watch: KeyWatch) -> Dictionary<String, Watched>.Index? {
        keys.index(forKey: watch.key).flatMap { keys[$0].value.number == watch.number ? $0 : nil }
    }

    /// Adds records that depend on keys, and were read during some watches.
    mutating func hold(_ records: Set<Int64>, by watches: [KeyWatch]) {
        if records.isEmpty { return }
        var hasChanged = false
        for watch in watches {
            guard let index = index(of: watch) else {
                hasChanged = true
                continue
            }
            keys.values[index].isUsed = true
            if !keys.values[index].isCommon { keys.values[index].records.formUnion(records) }
        }
        if hasChanged { log.append(Self.names(of: records)) }
    }

    /// Returns a stamp, if it is known.
    func stamp(_ key: String) -> ValkeyStamp? { keys[key]?.stamp }

    /// Adds a stamp that was read during a watch, unless it has changed since.
    mutating func set(_ stamp: ValkeyStamp, during watch: KeyWatch) {
        guard let index = index(of: watch) else { return }
        keys.values[index].stamp = stamp
    }

    /// Returns the keys of stamps that were used since the last call.
    mutating func takeUsedStamps() -> [String] {
        var used: [String] = []
        for index in keys.indices where keys[index].value.isUsed && keys[index].value.stamp != nil {
            keys.values[index].isUsed = false
            used.append(keys[index].key)
        }
        return used
    }

    /// Whether another process has changed a stamp since a position.
    func isChanged(_ stamp: ValkeyStamp, since position: ChangePosition) -> Bool {
        stamp.changes.contains { log.position(of: $0) > position && !ownTimes.contains($0) }
    }

    /// Takes a change of a stamp by this process. Its records stay, but what is being read now is outdated.
    ///
    /// - Parameter time: the time of the change in the stamp.
    mutating func didChange(_ key: String, at time: Int64) {
        if ownTimes.count >= CacheChangeLog.mostChanges { ownTimes.removeAll() }
        ownTimes.insert(time)
        guard let index = keys.index(forKey: key) else { return }
        watches += 1
        keys.values[index].number = watches
        keys.values[index].stamp = nil
    }

    /// The server's time, as far as it is known.
    var time: Int64 { log.number(at: log.position) }

    // MARK: Events

    mutating func connect() {
        keys.removeAll()
        log.connect()
    }

    mutating func disconnect() {
        keys.removeAll()
        log.disconnect()
    }

    /// Takes the server's time. A connection that was silent for long, but was not lost, begins anew.
    mutating func advance(to time: Int64) {
        if log.connectedAt == nil { connect() }
        log.advance(to: time)
    }

    /// Takes a report of changed keys; `nil` for all.
    mutating func change(_ names: [String]?) {
        guard let names else { return forgetAll() }
        var records: Set<Int64> = []
        for name in names {
            guard let watched = keys.removeValue(forKey: name) else { continue }
            if watched.isCommon { return forgetAll() }
            records.formUnion(watched.records)
        }
        if !records.isEmpty { log.append(Self.names(of: records)) }
    }

    private static func names(of records: Set<Int64>) -> ChangedNames {
        var names = ChangedNames()
        names.keys = records
        return names
    }

    private mutating func forgetAll() {
        keys.removeAll()
        log.append(nil)
    }
}
#endif
