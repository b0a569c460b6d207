import DiamondSQLite
import Foundation
package import HTTPTypes

/// The reads that a person needs to inspect a cache.
extension Cache {
    /// Returns a page of the entries that are in all of the selections. A late page costs as much as the first one. In
    /// a sealed store, a list in the order of URLs, or selected by the beginning of a URL, decrypts every entry that
    /// may match.
    ///
    /// - Parameter cursor: the position after the last entry of the previous page, in the same order.
    package func list(
        _ selections: [CacheSelection] = [],
        by order: CacheOrder = .newest,
        after cursor: CacheCursor? = nil,
        limit: Int
    ) throws(CacheError) -> [CacheListing] {
        try storage.listings(selections, by: order, after: cursor, limit: limit)
    }

    /// Returns at most two of the entries whose keys begin with some hexadecimal digits.
    package func list(beginning digits: String) throws(CacheError) -> [CacheListing] {
        guard let file = sqlite?.file else { return try listAll(beginning: digits.lowercased()) }
        return try file.read { (connection) throws(SQLiteError) in
            try file.opened(CacheTable.list(beginning: digits, on: connection), on: connection)
        }
    }

    // A server has no order of keys.
    private func listAll(beginning digits: String) throws(CacheError) -> [CacheListing] {
        var found: [CacheListing] = []
        var cursor: CacheCursor?
        while found.count < 2 {
            let page = try storage.listings([], by: .newest, after: cursor, limit: 1000)
            guard let last = page.last else { break }
            found += page.filter { $0.key.description.hasPrefix(digits) }
            cursor = CacheCursor(after: last, by: .newest)
        }
        return Array(found.prefix(2))
    }

    /// Passes every entry to a closure, the newest first, with the headers of its response. The headers are `nil` if
    /// they are sealed and cannot be opened. Reads no bodies.
    package func forEachEntry(_ body: (CacheListing, HTTPFields?) -> Void) throws(CacheError) {
        try forEachRecord { record in
            guard let listing = storage.coding.listing(of: record) else { return }
            body(listing, listing.isLocked ? nil : storage.coding.fields(of: record))
        }
    }

    /// Returns the canonical form of an entry's request; `nil` if there is no entry, or it is sealed and cannot be
    /// decrypted.
    package func canonicalForm(of key: RequestKey) throws(CacheError) -> String? {
        try storage.canonicalForm(of: key)
    }

    /// Returns the sound response that is stored under a key; `nil` if there is none.
    ///
    /// - Parameter bodyLimit: bytes. A larger body is left out: a file does not read it, and damage in it is not noticed.
    package func storedResponse(
        of key: RequestKey,
        request: [UInt8],
        bodyLimit: Int = .max
    ) throws(CacheError) -> StoredResponse? {
        try sound { () throws(CacheError) in
            guard let reader = try archiveReader(of: key, request: request) else { return nil }
            guard reader.count <= bodyLimit else { return reader.stored }
            var whole = reader.stored
            whole.body = try reader.rest()
            whole.sizeElsewhere = 0
            return whole
        }
    }

    private func sound<Value>(_ read: () throws(CacheError) -> Value?) throws(CacheError) -> Value? {
        do throws(CacheError) { return try read() } catch  where [.corrupt, .entryGone].contains(error.code) {
            return nil
        }
    }

    /// Returns the reason why this program cannot read the sound entry of a key; `nil` if the entry is damaged, or can
    /// be read.
    package func lockReason(of key: RequestKey, request: [UInt8]) throws(CacheError) -> String? {
        let finding = try finding(of: key, request: request)
        guard case .locked(let lock) = finding else { return nil }
        return lock.message
    }

    /// Returns the part that is stored under a key; `nil` if there is no sound one that answers ranges.
    ///
    /// - Parameters:
    ///   - request: the canonical form of the request.
    ///   - now: the current time.
    package func partPreview(
        of key: RequestKey,
        request: [UInt8],
        at now: WallTime
    ) throws(CacheError) -> StoredPartPreview? {
        // A server has none.
        guard keepsParts else { return nil }
        let body = try sound { () throws(CacheError) in try part(key, request: request) }
        guard let body, !body.stored.flags.contains(.variants),
            let part = StoredPart(body.stored, count: body.size, now: now), !part.range.isEmpty
        else { return nil }
        let range = "bytes \(part.range.lowerBound)-\(part.range.upperBound - 1)/\(part.length)"
        return StoredPartPreview(response: part.stored, range: range)
    }

    /// Returns the names of the keys that have sealed the store's secret: the keys of the programs that seal the store.
    ///
    /// A server has no such names. It is the one of its newest entry.
    package func keyIDs() throws(CacheError) -> [String] {
        guard let file = sqlite?.file else {
            return try storage.list([], by: .newest, after: nil, limit: 1).compactMap(\.seal)
        }
        return try file.read { (connection) throws(SQLiteError) in
            try CacheTable.sealedSecrets(on: connection).keys.sorted()
        }
    }

    /// Returns the number of sealed entries, by the name of the key that sealed them.
    package func sealedEntryCounts() throws(CacheError) -> [String: Int] {
        // A store without a sealed secret has no sealed rows.
        guard try !keyIDs().isEmpty else { return [:] }
        guard let file = sqlite?.file else {
            var counts: [String: Int] = [:]
            try forEachRecord { record in
                if let id = record.seal { counts[id, default: 0] += 1 }
            }
            return counts
        }
        return try file.read { (connection) throws(SQLiteError) in try CacheTable.seals(on: connection) }
    }

    /// A record of a server, as an inspection finds it.
    package struct InspectedRecord: Sendable {
        /// The entry.
        package let listing: CacheListing
        /// The damage, in a few words; `nil` if the entry is sound.
        package var damage: String?
        /// Whether it was compared only with its checksums, because no key here opens it.
        package var isLocked = false
    }

    /// Reads all entries of a server with their bodies. Entries that it evicts meanwhile are left out.
    package func inspectRecords(_ body: (InspectedRecord) -> Void) throws(CacheError) {
        try forEachRecord { (record) throws(CacheError) in
            let stored = try storage.records(under: record.requestKey, bodyLimit: .max).first { $0.key == record.key }
            guard let stored, let listing = storage.coding.listing(of: stored) else { return }
            var inspected = InspectedRecord(listing: listing)
            switch storage.coding.opened(stored, for: nil) {
            case .damaged(let reason): inspected.damage = reason
            case .locked: inspected.isLocked = true
            case .entry, .nothing: break
            }
            body(inspected)
        }
    }

    private func forEachRecord(_ body: (CacheRecord) throws(CacheError) -> Void) throws(CacheError) {
        var cursor: CacheCursor?
        while true {
            let page = try storage.list([], by: .newest, after: cursor, limit: 1000)
            for record in page { try body(record) }
            // Storages leave damaged rows out of a full page.
            guard let last = page.last else { return }
            cursor = CacheCursor(after: last, by: .newest)
        }
    }

    /// Returns the current totals of the store, over all its processes. Entries that are not on disk yet are counted
    /// after ``flush()``. The call reads indexes, which takes some tens of milliseconds for a million entries.
    public func totals() throws(CacheError) -> CacheTotals {
        try storage.totals()
    }

    /// Returns the counts of every hour of the last days, over all processes of the store, the oldest first; none if
    /// the cache is on a server. The counts of this process since its last write are among them after ``flush()``.
    ///
    /// - Parameter days: the number of days, 30 by default, 400 at most. The store keeps the last 9,600 hours in which
    ///   something happened.
    public func statistics(days: Int = 30) throws(CacheError) -> [CacheCounts] {
        let first = now().hour - Int64(max(0, min(days, 400))) * 24
        return try storage.statistics(from: first)
    }
}

/// A stored part of a representation.
package struct StoredPartPreview: Sendable {
    /// The head of the response.
    package let response: StoredResponse
    /// The stored range, and the size of the whole representation, such as `bytes 2-5/10`.
    package let range: String
}
