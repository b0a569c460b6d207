import DiamondSQLite
import Foundation

/// The tier of the cache that answers in nanoseconds: bounded in bytes, lost with the process.
///
/// In sixteen parts with a lock each, so that threads that ask for different things seldom wait for each other.
final class MemoryTier: Sendable {
    private struct Slot {
        var request: [UInt8]
        /// ``CacheEntry/url`` without its query, because what a change of another query means, the disk knows; `nil` where
        /// that is not known.
        var url: String?
        /// The number of the URL, once somebody has asked for it: it takes a hash.
        var number: Int64?
        var stored: StoredResponse

        /// - Returns: `nil` where the URL is not known.
        mutating func number(by number: (String) -> Int64) -> Int64? {
            if self.number == nil { self.number = url.map(number) }
            return self.number
        }
    }

    private struct Contents {
        var slots: Sieve<Int64, Slot>
        /// Counts what was stored and removed.
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

    /// Bytes kept at most. Lowering it evicts at once.
    var capacity: Int {
        get { limit.withLock { $0 } }
        set {
            limit.withLock { $0 = newValue }
            for part in parts { part.withLock { $0.slots.capacity = newValue / Self.partCount } }
        }
    }

    /// Bytes kept now.
    var cost: Int { parts.reduce(0) { $0 + $1.withLock { $0.slots.cost } } }

    enum Finding {
        /// The response to exactly this request, and whether it is used for the first time in a while.
        case hit(StoredResponse, isFirst: Bool)
        /// With what ``keep(_:under:request:since:)`` compares.
        case miss(changes: Int)
    }

    func find(_ key: RequestKey, request: [UInt8]) -> Finding {
        part(key.prefix).withLock { part in
            guard let (slot, isFirst) = part.slots.use(key.prefix), slot.request == request else {
                return .miss(changes: part.changes)
            }
            return .hit(slot.stored, isFirst: isFirst)
        }
    }

    /// The response to exactly this request, which does not count as used.
    func peek(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        part(key.prefix).withLock { part in
            guard let slot = part.slots.value(under: key.prefix), slot.request == request else { return nil }
            return slot.stored
        }
    }

    /// Keeps a response, unless it would fill one of the parts.
    func store(_ stored: StoredResponse, under key: RequestKey, request: [UInt8], url: String? = nil) {
        part(key.prefix).withLock { part in
            part.changes += 1
            Self.keep(stored, key, request, url, in: &part)
        }
    }

    /// Keeps what a 304 changed, where what it confirms is kept: with its URL, where both have the same, since either may be
    /// the one on disk.
    ///
    /// - Returns: `false` where something else is.
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
            Self.keep(stored.whole(by: slot.stored), key, request, slot.url == url?.withoutQuery ? url : nil, in: &part)
            return true
        }
    }

    /// Keeps what was read from disk, unless something has been stored or removed since the miss: what was read may be
    /// older.
    func keep(
        _ stored: StoredResponse,
        under key: RequestKey,
        request: [UInt8],
        url: String? = nil,
        since changes: Int
    ) {
        part(key.prefix).withLock { part in
            if part.changes == changes { Self.keep(stored, key, request, url, in: &part) }
        }
    }

    private static func keep(
        _ stored: StoredResponse,
        _ key: RequestKey,
        _ request: [UInt8],
        _ url: String?,
        in part: inout Contents
    ) {
        let url = url?.withoutQuery
        // With what the slot itself takes.
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

    /// Removes the named entries. Where URLs are named, it looks at every slot, and also removes entries whose URL is
    /// unknown.
    ///
    /// - Parameter number: ``CacheFile/number(of:)``.
    func remove(named names: CacheNames, by number: (String) -> Int64) {
        for prefix in names.keys { remove(prefix) }
        guard !names.urls.isEmpty else { return }
        for part in parts {
            part.withLock { part in
                part.changes += 1
                part.slots.removeAll { slot in slot.number(by: number).map(names.urls.contains) ?? true }
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

    /// Evicts down to a number of bytes; the bound stays.
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
