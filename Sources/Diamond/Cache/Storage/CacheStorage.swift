public import Foundation

/// The storage below a cache's memory tier, which all processes of a store share: SQLite by default, or a server.
///
/// A ``Cache`` makes keys, seals and compresses entries, computes their checksums, applies the rules of HTTP, and
/// collects writes in groups. A storage keeps ``CacheRecord``s, and changes them in whole transitions. It decides
/// nothing and reads no header: a record's ``CacheRecord/head`` is opaque.
///
/// Every verb is a transition of its own, which happens completely or not at all. A transition that has returned is
/// seen by all later reads of every process. What it changes is announced to the memory tiers of other processes within
/// 100 milliseconds (``changes(since:)``), at least to those that have read or written a record of the key.
///
/// A verb throws a ``CacheError`` if the storage cannot be reached, or does not answer in time. The error is never the
/// caller's: a lookup counts as a miss, a write is dropped or tried again, and the cache reports an event. A storage
/// that evicts records whenever it likes is a sound one. A storage that returns a record other than the one that was
/// stored is detected by its checksums, and its record is erased.
///
/// Writes come one at a time from each process, lookups from any number of tasks at once. `CacheStorageSuite` in
/// `DiamondTesting` tests a storage by this contract.
public protocol CacheStorage: Sendable {
    /// The name of the storage for messages: a path or a URL, without user and password.
    var name: String { get }

    /// 32 random bytes that all processes of the store share, and nobody else knows. Keys and digests depend on them: a
    /// process with other bytes finds no record of the others. They are read once, when the cache opens.
    var secret: Data { get }

    // MARK: Lookups

    /// Returns everything that lookups find under a request key: the record with this key, and the records of its
    /// variants, whose ``CacheRecord/requestKey`` it is; in any order. A record whose body is larger than a limit comes
    /// without its chunks.
    ///
    /// - Parameters:
    ///   - key: the key of a request.
    ///   - bodyLimit: bytes.
    func records(under key: RequestKey, bodyLimit: Int) async throws(CacheError) -> [CacheRecord]

    /// Returns some chunks of the body of a record; `nil` if the record is gone, or was replaced by one with another
    /// ``CacheRecord/bodyID``.
    func chunks(_ numbers: Range<Int>, of record: CacheRecord) async throws(CacheError) -> [Data]?

    /// Returns the changes that other processes have announced since a position. It is called by lookups, at most ten
    /// times a second, on the caller's thread: it returns what the storage knows now, without waiting for a server.
    ///
    /// A storage that may have missed an announcement, because its connection is lost, or silent for a second, returns
    /// `nil` as ``CacheChanges/names``, once: the memory tier is then dropped. Until the connection is back, entries
    /// that are stored in memory later keep to their freshness. Changes of this process may be among those returned.
    ///
    /// - Parameter position: ``CacheChanges/position`` of the call before; `nil` for the first one, which returns only
    ///   the current position.
    func changes(since position: ChangePosition?) throws(CacheError) -> CacheChanges

    // MARK: Writes

    /// Makes the changes of a batch, in their order. Each step is a transition; the batch may be one as a whole.
    ///
    /// - Returns: the keys of the steps that were not made as this process's memory tier has them.
    func write(_ batch: CacheBatch) async throws(CacheError) -> CacheOutcome

    /// Marks the records of some selections stale (``CacheRecord/isStale``), and announces names. They are marked for
    /// all processes when the call returns. The names are announced even if no record is selected: the memory tiers of
    /// other processes may have entries that were evicted.
    ///
    /// - Parameters:
    ///   - selections: the selections; a record may be in several.
    ///   - names: the names to announce; `nil` if anything may have changed.
    /// - Returns: the number of records that were not marked before; incomplete if the storage marks records without
    ///   reading them.
    func invalidate(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount

    /// Erases the records of some selections, so that their bytes cannot be found again as far as the storage can do
    /// that, and announces names as ``invalidate(_:announcing:)`` does.
    ///
    /// - Returns: the number of erased records.
    func erase(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount

    /// Protects the record of a key from eviction by Diamond, or ends the protection; `false` if there is none, or if
    /// the storage does not keep it.
    func setPinned(_ isPinned: Bool, for key: RequestKey) async throws(CacheError) -> Bool

    // MARK: Lists

    /// Returns a page of the records that are in every group of selections, without their chunks. A record is in a
    /// group if it is in one of its selections. Records that are no responses may be left out. A page that is not full
    /// is the last.
    ///
    /// - Parameters:
    ///   - groups: the groups of selections.
    ///   - order: the order of the page.
    ///   - cursor: the position after the last record of the page before, in the same order.
    ///   - limit: the maximum number of records.
    func list(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) async throws(CacheError) -> [CacheRecord]

    /// Returns the number of responses in any of some selections.
    ///
    /// - Parameters:
    ///   - selections: the selections; a record may be in several.
    ///   - onlyValid: whether those marked stale are left out.
    func count(_ selections: [CacheSelection], onlyValid: Bool) async throws(CacheError) -> Int

    /// Returns the totals of the store, over all its processes.
    func totals() async throws(CacheError) -> CacheTotals

    /// Evicts records down to a number of bytes: those past their ``CacheRecord/expiry`` first. Returns `nil` if the
    /// server evicts by its own rules.
    func evict(to bytes: Int64) async throws(CacheError) -> Int?
}

/// The defaults of a storage that does not keep these values.
extension CacheStorage {
    public func setPinned(_ isPinned: Bool, for key: RequestKey) async throws(CacheError) -> Bool { false }

    public func evict(to bytes: Int64) async throws(CacheError) -> Int? { nil }
}
