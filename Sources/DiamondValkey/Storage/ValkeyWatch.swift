#if Valkey
import Diamond

/// The keys that the server tracks for this process, and the changes that it has reported.
///
/// A key is watched before it is read. If it is not watched any more when the reply is used, it has changed since.
struct ValkeyWatch {
    private struct Watched {
        /// The stamp, if the key is one of a name and it was read.
        var stamp: ValkeyStamp?
        /// The prefixes of the keys of records that depend on it.
        var records: Set<Int64> = []
        /// Whether all records depend on it.
        var isCommon = false
        /// Whether it was used since the last refresh.
        var isUsed = true
    }

    private struct Change {
        let position: Int64
        /// `nil` if anything may have changed.
        let names: ChangedNames?
    }

    /// The most watched keys. Beyond them, memory is dropped and watching begins again.
    static let mostKeys = 200_000
    /// The most changes that are kept.
    static let mostChanges = 4096

    private var keys: [String: Watched] = [:]
    private var changes: [Change] = []
    /// The position before the oldest kept change.
    private var oldest: Int64 = 0
    /// The time of the server in microseconds, or a little more: it is different after each change. All changes before
    /// it are known.
    private(set) var position: Int64 = 0
    /// The position at the beginning of the connection; `nil` without one. Changes before it may have been missed.
    private(set) var connectedAt: Int64?
    /// The number that is added to the server's times, so that positions grow when a server with a slower clock takes
    /// over; `nil` before the first one of a connection.
    private var offset: Int64?
    /// The times of the stamps that this process has changed.
    private var ownTimes: Set<Int64> = []

    // MARK: Watching

    /// Begins to watch a key before it is read.
    mutating func begin(_ key: String, isCommon: Bool = false) {
        if keys[key] != nil { return }
        if keys.count >= Self.mostKeys { forgetAll() }
        keys[key] = Watched(isCommon: isCommon)
    }

    /// Adds records that depend on keys.
    mutating func hold(_ records: Set<Int64>, by names: [String]) {
        if records.isEmpty { return }
        var hasChanged = false
        for name in names {
            guard let index = keys.index(forKey: name) else {
                hasChanged = true
                continue
            }
            keys.values[index].isUsed = true
            if !keys.values[index].isCommon { keys.values[index].records.formUnion(records) }
        }
        if hasChanged { append(Self.names(of: records)) }
    }

    /// Returns a stamp, if it is known.
    func stamp(_ key: String) -> ValkeyStamp? { keys[key]?.stamp }

    /// Adds a stamp that was read, unless it has changed since.
    mutating func set(_ stamp: ValkeyStamp, of key: String) {
        guard let index = keys.index(forKey: key) else { return }
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
    func isChanged(_ stamp: ValkeyStamp, since position: Int64) -> Bool {
        stamp.changes.contains { $0 + (offset ?? 0) > position && !ownTimes.contains($0) }
    }

    /// Takes a change of a stamp by this process.
    ///
    /// - Parameter time: the time of the change in the stamp.
    mutating func didChange(_ key: String, at time: Int64) {
        if ownTimes.count >= Self.mostChanges { ownTimes.removeAll() }
        ownTimes.insert(time)
        guard let index = keys.index(forKey: key) else { return }
        keys.values[index].stamp = nil
    }

    /// The server's time, as far as it is known.
    var time: Int64 { position - (offset ?? 0) }

    // MARK: Events

    mutating func connect() {
        forgetAll()
        connectedAt = position
        offset = nil
    }

    mutating func disconnect() {
        forgetAll()
        connectedAt = nil
    }

    /// Takes the server's time.
    mutating func advance(to time: Int64) {
        if offset == nil { offset = max(0, position - time) }
        position = max(position, time + (offset ?? 0))
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
        if !records.isEmpty { append(Self.names(of: records)) }
    }

    private static func names(of records: Set<Int64>) -> ChangedNames {
        var names = ChangedNames()
        names.keys = records
        return names
    }

    /// Adds announced names; `nil` if anything may have changed.
    mutating func append(_ names: ChangedNames?) {
        position += 1
        changes.append(Change(position: position, names: names))
        guard changes.count > Self.mostChanges else { return }
        oldest = changes[changes.count / 2].position
        changes.removeFirst(changes.count / 2 + 1)
    }

    private mutating func forgetAll() {
        keys.removeAll()
        append(nil)
    }

    // MARK: Changes

    /// Returns the changes after a position; only the position if there is none.
    func changes(since position: Int64?) -> CacheChanges {
        guard let position else { return CacheChanges(position: self.position, names: ChangedNames()) }
        guard position >= oldest else { return CacheChanges(position: self.position, names: nil) }
        var all = ChangedNames()
        // From the newest: most calls find none.
        for change in changes.reversed() {
            guard change.position > position else { break }
            guard let names = change.names else { return CacheChanges(position: self.position, names: nil) }
            all.formUnion(names)
        }
        return CacheChanges(position: self.position, names: all)
    }
}
#endif
