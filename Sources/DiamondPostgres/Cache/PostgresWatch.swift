#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite

/// The announcements that this process has read, and the records that its memory tier may have.
///
/// A read or write begins at ``start``, and ends with ``hold(_:since:)``. If a change that concerns the record came in
/// between, it is reported again, because the memory tier did not have the record then.
struct PostgresWatch {
    /// A row of `cache_change`.
    struct Announcement {
        let position: Int64
        /// Whether this process has made it: its memory tier knows.
        let isOwn: Bool
        /// `nil` if anything may have changed.
        let names: ChangedNames?
        /// The hashes of the invalidated names.
        let stamps: Set<Int64>
    }

    /// The most pairs of a name and a record. Beyond them, memory is dropped and holding begins again.
    static let mostHolds = 1_000_000
    /// Room for positions between those of two announcements.
    private static let scale = 16

    private(set) var log = CacheChangeLog()
    /// The position of the last announcement in `cache_change`.
    private(set) var known: Int64 = 0
    /// The time at which all announcements were known.
    private var knownAt = Uptime.min
    /// The prefixes of the keys of records in memory, by the hashes of their names.
    private var holders: [Int64: Set<Int64>] = [:]
    private var holds = 0
    /// The positions in the log of the last changes of names.
    private var changedNames: [Int64: ChangePosition] = [:]
    /// The position before the oldest one in `changedNames`.
    private var oldestName = ChangePosition.start

    // MARK: The connection

    /// - Parameters:
    ///   - position: the newest position in `cache_change`.
    ///   - time: the time before it was read.
    mutating func connect(at position: Int64, time: Uptime) {
        forget()
        log.connect()
        known = position
        knownAt = time
        log.advance(to: position << Self.scale)
    }

    mutating func disconnect() {
        guard log.connectedAt != nil else { return }
        forget()
        log.disconnect()
    }

    /// Whether announcements may have been missed for some time.
    func isSilent(for limit: Duration) -> Bool { Uptime.now.milliseconds(since: knownAt) >= limit.milliseconds }

    /// Takes announcements in their order: all up to the last one.
    ///
    /// - Parameter time: the time before they were read.
    mutating func take(_ announcements: [Announcement], time: Uptime) {
        // It was silent, but not lost.
        if log.connectedAt == nil { connect(at: known, time: time) }
        for announcement in announcements { take(announcement) }
        knownAt = time
    }

    private mutating func take(_ announcement: Announcement) {
        known = announcement.position
        if !announcement.isOwn { log.append(changes(of: announcement)) }
        log.advance(to: known << Self.scale)
        if changedNames.count >= CacheChangeLog.mostChanges {
            changedNames.removeAll()
            oldestName = log.position
        }
        for name in announcement.stamps { changedNames[name] = log.position }
    }

    private mutating func changes(of announcement: Announcement) -> ChangedNames? {
        guard var names = announcement.names else {
            forget()
            return nil
        }
        for name in announcement.stamps {
            guard let records = holders.removeValue(forKey: name) else { continue }
            names.keys.formUnion(records)
            holds -= records.count
        }
        return names
    }

    private mutating func forget() {
        holders.removeAll()
        holds = 0
    }

    // MARK: Records

    /// The position at the beginning of a read or write.
    var start: ChangePosition { log.position }

    /// Remembers that memory may have a record.
    ///
    /// - Parameter start: the position before it was read or written.
    mutating func hold(_ record: CacheRecord, since start: ChangePosition) {
        var own = ChangedNames(record.key)
        own.keys.insert(record.requestKey.prefix)
        let names = record.names.map(CacheName.init).filter { !$0.isCommon }.map(\.number)
        if holds >= Self.mostHolds {
            forget()
            log.append(nil)
        }
        for name in names {
            for key in own.keys where holders[name, default: []].insert(key).inserted { holds += 1 }
        }
        if hasChanged(record, names: names, since: start) { log.append(own) }
    }

    private func hasChanged(_ record: CacheRecord, names: [Int64], since start: ChangePosition) -> Bool {
        guard start < log.position else { return false }
        guard start >= oldestName, let changes = log.changes(since: start).names else { return true }
        return names.contains { changedNames[$0].map { $0 > start } ?? false } || changes.urls.contains(record.urlHash)
            || !changes.keys.isDisjoint(with: [record.key.prefix, record.requestKey.prefix])
    }

    /// The position in `cache_change` that was known when a record was requested; `nil` if no later change makes it stale.
    func known(by record: CacheRecord) -> Int64? { record.knownPosition.map { log.number(at: $0) >> Self.scale } }
}

extension CacheName {
    /// The hash as a number of PostgreSQL.
    var number: Int64 { Int64(bitPattern: hash) }
}
#endif
