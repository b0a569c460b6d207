#if Valkey
public import Diamond
import DiamondSQLite
public import Foundation
import NIOCore

/// Lookups.
extension ValkeyStorage {
    public func records(under key: RequestKey, bodyLimit: Int) async throws(CacheError) -> [CacheRecord] {
        if let records = try await stored(under: key, bodyLimit: bodyLimit) { return records }
        // A variant is found under the key of its request.
        guard let owner = try await owners(of: [key]).first, owner != key else { return [] }
        return try await (stored(under: owner, bodyLimit: bodyLimit) ?? []).filter { $0.key == key }
    }

    /// Returns the records of a hash; `nil` if there is no such hash.
    private func stored(under key: RequestKey, bodyLimit: Int) async throws(CacheError) -> [CacheRecord]? {
        let hash = keys.records(under: key)
        watch.withLock { $0.begin(hash) }
        let rows = try await rows(of: [hash], isTracked: true)
        guard !rows.isEmpty else { return nil }
        let records = try await valid(rows, isTracked: true)
        hold(records, by: [hash])
        return try await withBodies(records, limit: bodyLimit)
    }

    public func chunks(_ numbers: Range<Int>, of record: CacheRecord) async throws(CacheError) -> [Data]? {
        if ValkeyRow.hasBody(record) {
            let records = try await records(under: record.requestKey, bodyLimit: 0)
            guard let same = records.first(where: { $0.key == record.key && $0.bodyID == record.bodyID }),
                same.chunks.indices.contains(numbers.lowerBound) || numbers.isEmpty,
                numbers.upperBound <= same.chunks.count
            else { return nil }
            return Array(same.chunks[numbers])
        }
        let names = keys.chunks(numbers, of: ValkeyRow.bodyName(of: record), under: record.requestKey)
        return try await chunks(names)
    }

    /// Returns chunks; `nil` if one is missing.
    private func chunks(_ names: [String]) async throws(CacheError) -> [Data]? {
        let values = try await ask { () throws(ValkeyError) in try await wire.values(of: names, isTracked: false) }
        let chunks = values.compactMap { $0.map { Data($0.readableBytesView) } }
        return chunks.count == names.count ? chunks : nil
    }

    /// Reads the bodies that have keys of their own. A record without one of its chunks is no record.
    private func withBodies(_ records: [CacheRecord], limit: Int) async throws(CacheError) -> [CacheRecord] {
        var complete: [CacheRecord] = []
        for record in records {
            guard !ValkeyRow.hasBody(record), record.bodySize <= limit else {
                complete.append(record)
                continue
            }
            if let chunks = try await chunks(0..<record.chunkCount, of: record) {
                complete.append(record.with(chunks: chunks))
            }
        }
        return complete
    }

    // MARK: Rows

    /// Returns the rows of some hashes. A damaged one is no row.
    func rows(of hashes: [String], isTracked: Bool) async throws(CacheError) -> [ValkeyRow] {
        let fields = try await ask { () throws(ValkeyError) in try await wire.fields(of: hashes, isTracked: isTracked) }
        return fields.flatMap { fields in
            let marked = Set(fields.lazy.map(\.name).filter { $0.hasSuffix(".s") })
            return fields.compactMap { field in
                field.name.utf8.count == 64 ? ValkeyRow(field.value, isStale: marked.contains(field.name + ".s")) : nil
            }
        }
    }

    /// Returns the records of rows as the stamps of their names leave them.
    ///
    /// - Parameter isTracked: whether the stamps are remembered.
    func valid(_ rows: [ValkeyRow], isTracked: Bool) async throws(CacheError) -> [CacheRecord] {
        let names = Set(rows.flatMap { ValkeyRow.names(of: $0.record) })
        let stamps = try await stamps(of: names, isTracked: isTracked)
        return rows.compactMap { row in row.record(given: ValkeyRow.names(of: row.record).map { stamps[$0] }) }
    }

    /// Remembers that memory may have records now.
    func hold(_ records: [CacheRecord], by hashes: [String]) {
        watch.withLock { watch in
            for record in records {
                let stamps = ValkeyRow.names(of: record).map(keys.stamp)
                watch.hold([record.key.prefix, record.requestKey.prefix], by: hashes + stamps)
            }
        }
    }

    // MARK: Stamps

    /// Returns the stamps of names that have one.
    func stamps(of names: Set<ValkeyName>, isTracked: Bool) async throws(CacheError) -> [ValkeyName: ValkeyStamp] {
        var known: [ValkeyName: ValkeyStamp] = [:]
        var missing: [ValkeyName] = []
        watch.withLock { watch in
            for name in names {
                let key = keys.stamp(of: name)
                if let stamp = watch.stamp(key) { known[name] = stamp } else { missing.append(name) }
                if isTracked { watch.begin(key, isCommon: name.isCommon) }
            }
        }
        guard !missing.isEmpty else { return known }
        let wanted = missing.map(keys.stamp)
        let values = try await ask { () throws(ValkeyError) in try await wire.values(of: wanted, isTracked: isTracked) }
        watch.withLock { watch in
            for (name, value) in zip(missing, values) {
                guard let stamp = value.flatMap(ValkeyStamp.init) else { continue }
                known[name] = stamp
                if isTracked { watch.set(stamp, of: keys.stamp(of: name)) }
            }
        }
        return known
    }

    /// Returns the stamps of names, for records to store. Names without a stamp get one.
    func stampsForStoring(_ names: Set<ValkeyName>) async throws(CacheError) -> [ValkeyName: ValkeyStamp] {
        let known = try await stamps(of: names, isTracked: true)
        let missing = names.filter { known[$0] == nil }
        guard !missing.isEmpty else { return known }
        let new = ValkeyStamp(newAt: watch.withLock { $0.time }).bytes
        let writes = missing.map { name in
            ValkeyWrite(key: keys.stamp(of: name), value: new, expiry: name.expiry, isOnlyIfAbsent: true)
        }
        _ = try await ask { () throws(ValkeyError) in try await wire.write(writes) }
        // Another process may have been first. The key is also read to be tracked.
        return try await stamps(of: names, isTracked: true)
    }
}
#endif
