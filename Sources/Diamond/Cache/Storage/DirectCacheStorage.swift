import Foundation

/// A storage whose verbs do not suspend: the calling thread waits until they return. A ``Cache`` calls them on its
/// writing thread, and for people. ``SQLiteCacheStorage`` is one by nature, and ``RemoteCacheStorage`` makes one of any
/// other storage.
protocol DirectCacheStorage: CacheStorage {
    // MARK: The verbs of every storage

    func records(under key: RequestKey, bodyLimit: Int) throws(CacheError) -> [CacheRecord]
    func chunks(_ numbers: Range<Int>, of record: CacheRecord) throws(CacheError) -> [Data]?
    func write(_ batch: CacheBatch) throws(CacheError) -> CacheOutcome
    func invalidate(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) throws(CacheError) -> CacheRecordCount
    func erase(_ selections: [CacheSelection], announcing names: ChangedNames?) throws(CacheError) -> CacheRecordCount
    func setPinned(_ isPinned: Bool, for key: RequestKey) throws(CacheError) -> Bool
    func list(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) throws(CacheError) -> [CacheRecord]
    func count(_ selections: [CacheSelection], onlyValid: Bool) throws(CacheError) -> Int
    func totals() throws(CacheError) -> CacheTotals
    func evict(to bytes: Int64) throws(CacheError) -> Int?

    // MARK: The writing thread

    /// The form of the records.
    var coding: CacheCoding { get }

    /// A number that increases when the store is replaced by another one, and with it the secret of its seal.
    var generation: Int { get }

    /// Whether a write could begin now without waiting for another process, and end within microseconds.
    var canWriteImmediately: Bool { get }

    /// Whether it is on this machine. Verbs then wait for the disk only. A record is erased later if a newer one could
    /// not be stored in its place; a server keeps the older one, which other processes may use until it is stale.
    var isLocal: Bool { get }

    /// Makes the storage ready for writes.
    func prepare() throws(CacheError)

    /// Returns the changes since a position at once; `nil` if that would wait.
    func changesAtOnce(since position: ChangePosition) -> CacheChanges?

    /// Erases records that are outdated because their newest changes could not be written. It takes little time and
    /// space.
    func eraseOutdated(_ selections: [CacheSelection], announcing names: ChangedNames?) throws(CacheError)

    /// Returns those of some keys that may have a record.
    func stored(among keys: [RequestKey]) throws(CacheError) -> [RequestKey]

    /// Marks the records stale that the change of some URLs concerns, and announces them.
    func invalidate(urls: [String]) throws(CacheError)

    /// Returns those of some URLs that may have a record that is not marked stale.
    func valid(urls: [String]) throws(CacheError) -> Set<String>

    // MARK: Capacity

    /// The maximum bytes of the storage.
    var capacity: Int64 { get nonmutating set }

    /// Whether a body is so large that it is not stored.
    func isTooLarge(_ bodySize: Int) -> Bool

    /// Counts bytes that are about to be written.
    ///
    /// - Returns: whether to evict after the write.
    func spend(_ bytes: Int64) -> Bool

    /// Whether there may be something to evict.
    var needsEviction: Bool { get }

    /// Evicts what fits in one transaction, if there is something to evict.
    ///
    /// - Parameter pages: the pages of a file, if they have just been read.
    func evictSlice(_ pages: CachePages?) throws(CacheError) -> (count: Int, isMore: Bool)

    // MARK: For people

    /// Returns a page of the entries that are in all of some selections, with their URLs opened.
    func listings(
        _ selections: [CacheSelection], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) throws(CacheError) -> [CacheListing]

    /// Returns the counts of the hours from one on, over all processes, the oldest first; none if the storage keeps
    /// none.
    ///
    /// - Parameter hour: whole hours since 1970.
    func statistics(from hour: Int64) throws(CacheError) -> [CacheCounts]

    /// Returns the canonical form of an entry's request; `nil` if there is none, or it cannot be opened.
    func canonicalForm(of key: RequestKey) throws(CacheError) -> String?
}
