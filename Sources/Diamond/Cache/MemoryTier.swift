import DiamondSQLite
import Foundation

/// The memory tier of the cache: bounded in bytes, lost with the process.
///
/// It has sixteen parts with a lock each, so that lookups of different keys seldom wait for each other.
final class MemoryTier: Sendable {
    private struct Slot {
        var request: [UInt8]
        /// ``CacheEntry/url`` without its query: only the disk tier knows which queries an invalidation includes. `nil`
        /// if the URL is unknown.
        var url: String?
        /// The hash of the URL (``CacheCoding/urlHash(of:)``), computed on first use.
        var urlHash: Int64?
        var stored: StoredResponse

        /// - Returns: `nil` if the URL is unknown.
        mutating func urlHash(by hash: (String) -> Int64) -> Int64? {
            if urlHash == nil { urlHash = url.map(hash) }
            return urlHash
        }
    }

    private struct Contents {
        var slots: Sieve<Int64, Slot>
        /// The number of entries stored and removed so far.
        var changes = 0
    }

    private typealias Part = Guarded<Contents>

    private static let partCount = 16

    private let parts: [Part]
    private let limit: Guarded<Int>

    init(capacity: Int) {
        parts = (0..<Self.partCount).map { _ in Part(Contents(slots: Sieve(capacity: capacity / Self.partCount))) }
        limit = Guarded(capacity)
    }

    /// The maximum bytes. Lowering it evicts immediately.
    var capacity: Int {
        get { limit.withLock { $0 } }
        set {
            limit.withLock { $0 = newValue }
            for part in parts { part.withLock { $0.slots.capacity = newValue / Self.partCount } }
        }
    }

    /// The maximum bytes of a part: no larger entry is stored.
    var partCapacity: Int { capacity / Self.partCount }

    /// The current bytes.
    var cost: Int { parts.reduce(0) { $0 + $1.withLock { $0.slots.cost } } }

    /// The result of a lookup.
    enum LookupResult {
        /// The response to exactly this request, and whether this is its first use since the hand of SIEVE passed it.
        case hit(StoredResponse, isFirst: Bool)
        /// No response, with the number of changes for ``storeIfUnchanged(_:under:request:url:since:)``.
        case miss(changes: Int)
    }

    func find(_ key: RequestKey, request: [UInt8]) -> LookupResult {
        part(key.prefix).withLock { part in
            guard let (slot, isFirst) = part.slots.use(key.prefix), slot.request == request else {
                return .miss(changes: part.changes)
            }
            return .hit(slot.stored, isFirst: isFirst)
        }
    }

    /// Returns the response to exactly this request, without counting a use.
    func peek(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        part(key.prefix).withLock { part in
            guard let slot = part.slots.value(under: key.prefix), slot.request == request else { return nil }
            return slot.stored
        }
    }

    /// Stores a response, unless it is larger than one of the parts.
    func store(_ stored: StoredResponse, under key: RequestKey, request: [UInt8], url: String? = nil) {
        part(key.prefix).withLock { part in
            part.changes += 1
            Self.insert(stored, under: key, request: request, url: url, into: &part)
        }
    }

    /// Stores the changes of a 304, if the part has the response that was confirmed. The URL is stored only if both
    /// responses have the same: the disk may have either.
    ///
    /// - Returns: `false` if the part has another response.
    func confirm(
        _ stored: StoredResponse,
        replacing old: StoredResponse,
        under key: RequestKey,
        request: [UInt8],
        url: String? = nil
    ) -> Bool {
        part(key.prefix).withLock { part in
            guard let (slot, _) = part.slots.use(key.prefix) else { return true }
            guard slot.request == request, slot.stored.isUnchanged(since: old) else { return false }
            part.changes += 1
            Self.insert(
                stored.completed(by: slot.stored), under: key, request: request,
                url: slot.url == url?.withoutQuery ? url : nil, into: &part)
            return true
        }
    }

    /// Stores a response read from disk, unless the part has changed since the miss: the response may then be outdated.
    func storeIfUnchanged(
        _ stored: StoredResponse,
        under key: RequestKey,
        request: [UInt8],
        url: String? = nil,
        since changes: Int
    ) {
        part(key.prefix).withLock { part in
            guard part.changes == changes else { return }
            Self.insert(stored, under: key, request: request, url: url, into: &part)
        }
    }

    private static func insert(
        _ stored: StoredResponse,
        under key: RequestKey,
        request: [UInt8],
        url: String?,
        into part: inout Contents
    ) {
        let url = url?.withoutQuery
        // Including the approximate overhead of the slot.
        let cost = stored.body.count + stored.headerBlock.count * 3 + request.count + (url?.utf8.count ?? 0) + 512
        part.slots.insert(Slot(request: request, url: url, stored: stored), under: key.prefix, cost: cost)
    }

    func remove(_ key: RequestKey) { remove(key.prefix) }

    private func remove(_ prefix: Int64) {
        part(prefix).withLock { part in
            part.changes += 1
            part.slots.remove(prefix)
        }
    }

    /// Removes the named entries. If there are names of URLs, it scans every slot, and also removes entries whose URL
    /// is unknown.
    ///
    /// - Parameter urlHash: ``CacheCoding/urlHash(of:)``.
    func remove(named names: ChangedNames, by urlHash: (String) -> Int64) {
        for prefix in names.keys { remove(prefix) }
        guard !names.urls.isEmpty else { return }
        for part in parts {
            part.withLock { part in
                part.changes += 1
                part.slots.removeAll { slot in slot.urlHash(by: urlHash).map(names.urls.contains) ?? true }
            }
        }
    }

    /// Removes the entries of some URLs, whatever their queries, and those whose URL is unknown.
    func remove(urls: Set<String>) {
        let urls = Set(urls.map(\.withoutQuery))
        for part in parts {
            part.withLock { part in
                part.changes += 1
                part.slots.removeAll { slot in slot.url.map { url in urls.contains { $0 == url } } ?? true }
            }
        }
    }

    /// Evicts down to a number of bytes; the capacity stays.
    func shrink(to cost: Int) {
        for part in parts {
            part.withLock { part in
                let capacity = part.slots.capacity
                part.slots.capacity = cost / Self.partCount
                part.slots.capacity = capacity
            }
        }
    }

    func removeAll() {
        for part in parts {
            part.withLock { part in
                part.changes += 1
                part.slots.removeAll()
            }
        }
    }

    private func part(_ prefix: Int64) -> Part { parts[Int(truncatingIfNeeded: prefix) & (Self.partCount - 1)] }
}
